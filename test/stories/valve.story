watch asks

# 1: after a scheduled pressure test the water stays off
@ schedules.sonics=8m; schedules.incidents=1h; schedules.telemetry=6h; cloud.routes={"list_wifi_sonics":null}
@ world.pressureTestMs=1200000
watch sonic:valve_state sonic:valve sonic.valve sonic.pressure_test_running

in two nights of tests the valve is never shown closed, never moved, and open after each; the clocks change before the second
  @ off; begins=2026-03-28T00:00:00Z
  put settings pressure_tests_enabled=true; put settings pressure_tests_schedule=03:00:00; put settings timezone=Europe/Berlin; nightly
  start; 121m; restart                                             | valve_state "pressure_test"; valve null (2 times); pressure_test_running ON
  117m; stop; 20h; start                                           | valve_state "open"; valve "open"; valve open; pressure_test_running OFF
  68m                                                              | valve_state "pressure_test"; pressure_test_running ON
  cloud error-503; 1h; cloud ok; 110m; shown                       | shown as open and null; valve_state "open"; pressure_test_running OFF

a valve that its owner has closed is shown closed through a test, and is not opened by anybody
  valve closed; 10m        | valve_state "closed"; valve "closed"; valve closed
  valve pressure_test; 10m | valve_state "pressure_test"; pressure_test_running ON
  valve closed; 10m        | valve_state "closed"; pressure_test_running OFF

# 2: the valve is shown closed when the vendor's cloud is lost, and alarms go off

no value changes, all becomes unavailable
  keep; watch valve; cloud truncated; 20m; changed; shown | changed: ; shown as open; open, unavailable
  cloud ok; 40m                                           | open

# 3: the valve is moved in the phone app, and Home Assistant never follows

it follows within the minute of the schedule, and the six seconds that it moves, each time
  @ schedules=prompt
  watch sonic.valve    | valve open
  73s; app close; 67s  | valve closed
  611s; app open; 67s  | valve open
  859s; app close; 67s | valve closed
  302s; app open; 67s  | valve open

# 11: a retained command is replayed at each restart, and something moves

it is refused each time, which is said with the remedy, and moves something only when somebody follows that
  @ off; mqtt.protocol_version=$1
  = 5
  = 4
  watch outcomes; retain valve/set CLOSE; retain pressure_test/start PRESS; start
       | refused: the command was sent with the retain flag. Send it without retain, and clear the stored one (mosquitto_pub -r -n -t TOPIC) (2 times)
  restart; broker cut; broker ok; 1m; birth; 1m                    | refused: the command was sent with the retain flag. Send it without retain, and
                                                                   | clear the stored one (mosquitto_pub -r -n -t TOPIC) (4 times)
  restart; broker cut; broker ok; 1m; birth; 1m                    | refused: the command was sent with the retain flag. Send it without retain, and
                                                                   | clear the stored one (mosquitto_pub -r -n -t TOPIC) (4 times)
  remedy; clear; restart; close; 1m                                | a remedy is said; asks action:close; refused: the command was sent with the
                                                                   | retain flag. Send it without retain, and clear the stored one (mosquitto_pub -r
                                                                   | -n -t TOPIC); ok

# 25: water is one tap from "all switches off", and a missing field removes the valve
watch outcomes

the valve is a valve, and nothing else in Home Assistant commands it
  @ world.wifiSonics=1
  commanding | commanding: valve,valve

control of valves can be forbidden: then the entity takes no command, and whatever may move one is refused
  @ control.valves=false; off
  alert high_volume_alert sonic close_valve reopen snooze resolve; start; commanding; see sonic.pressure_test_start sonic.valve
       | commanding: ; pressure_test_start missing; valve open
  close; ask sonic/pressure_test/start PRESS; ask sonic/incidents/action close_valve; ask property/incidents/action Close_Valve; 1m
       | refused: not permitted: control.valves is off in the configuration (4 times)
  ask i1/action close_valve; request act_on_incident {"incident_id":"{i1}"} close_valve; 1m
       | refused: not permitted: control.valves is off in the configuration (2 times)
  request act_on_property_incident {"property_id":"{property}","incident_id":"{i1}"} close_valve; 1m
       | refused: not permitted: control.valves is off in the configuration
  ask sonic/incidents/action snooze; 1m                            | asks action:snooze of {i1}; asks action:snooze of {oldi1}; ok

a sonic of which fields are missing keeps all of its entities, which are unknown
  @ schedules=prompt
  keep; strip; 2m; entities; see sonic.valve sonic.battery sonic:valve_state
       | lost entities: ; valve null; battery null; valve_state null

# what moves a valve and is no command to it
watch outcomes

is not sent after a newer command: a pressure test that has waited, but is if it is the newer one
  cloud hang-before patch_sonic,update_sonic; ask sonic/name/set Kitchen; 5s; ask sonic/pressure_test/start PRESS; 1s; open; 20s
       | asks name:Kitchen; asks action:open; ok; error: timeout: cloud.example.com without an answer after 8 s; superseded: a newer command for this
       | valve arrived
  cloud ok; open; ask sonic/pressure_test/start PRESS; 20s         | asks action:open; asks source:sonic2mqtt; ok; error 409: the cloud answered 409
                                                                   | (conflict): a pressure test is running

is not sent again after a newer command: a pressure test that the cloud put off
  cloud 429 start_pressure_test; ask sonic/pressure_test/start PRESS; 1s; open; 1s; cloud ok; 20s
       | asks source:sonic2mqtt; asks action:open; superseded 429: a newer command for this valve arrived; ok

is not sent after a newer command: an action of an incident, held up by another action of it and four requests
  @ off
  = at its topic = ask i1/action open_valve
  = by a request = request act_on_incident {"incident_id":"{i1}"} open_valve
  alert high_volume_alert sonic resolve snooze open_valve; start; cloud hang-before read_signal,act_on_incident; ask i1/action snooze
  request read_signal {"signal_id":"{signal}"}; request read_signal {"signal_id":"{signal}"}
  request read_signal {"signal_id":"{signal}"}; request read_signal {"signal_id":"{signal}"}; 4s
       | asks action:snooze of {i1}
  $2; 500ms; close; 30s                                            | asks action:close; ok; error: timed out before the request was sent (2 times);
                                                                   | error: timeout: cloud.example.com without an answer after 8 s; superseded: a
                                                                   | newer command for this valve arrived; error: timeout: cloud.example.com without
                                                                   | an answer after 8 s (2 times)
