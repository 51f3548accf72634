@ calm; off; schedules=prompt
watch sonic.leak sonic.open_incidents incidents

# an incident that opens

is shown although the cloud does not answer for another that its list misses
  alert low_battery_level; start; 1m; cloud hang-before read_incident; put i1 open=false; alert water_presence_detected; next list_incidents; 1s
       | leak ON; open_incidents 2; incident_opened {i1}; incident_opened {i2}

is shown within a minute although the cloud answers for none of many that its list misses
  @ cloud.request_timeout=20s; cloud.max_concurrency=2
  alert low_battery_level; alert low_battery_level; alert low_battery_level; alert low_battery_level; start; 1m
       | leak OFF; open_incidents 4; incident_opened {i4}; incident_opened {i3}; incident_opened {i2}; incident_opened {i1}
  end i1; end i2; end i3; end i4; cloud hang-before read_incident; next list_incidents; 1s
  alert water_presence_detected; 1m                                | leak ON; open_incidents 5; incident_opened {i5}

# an open incident while its list alone cannot be read
@ off=false
watch property/incidents:open_count property/incidents:highest_severity property/incidents:open summary status

is read by itself, once for each schedule, and closes when the cloud says so
  alert water_presence_detected; 1m; read read_incident   | read_incident 0 times; leak ON; open_incidents 1; incident_opened {i1}; open_count 1;
                                                          | highest_severity "high"; open ["{i1}"]; Leak at Kitchen, since 09:01. Water is on.
  cloud error-500 list_incidents; 10m; read read_incident | read_incident 20 times; open_incidents null; open_count null; highest_severity null; Leak
                                                          | at Kitchen, since 09:01. Water is on. Not all alerts could be read. sonic2mqtt reports a
                                                          | problem. See Health of the device sonic2mqtt.; health degraded
  end i1; 1m                                              | leak null; incident_closed {i1}; open []; Not all alerts could be read. sonic2mqtt reports
                                                          | a problem. See Health of the device sonic2mqtt.

stays shown if it is answered with an error too, and the sentence says since when; 404 is what a gateway says that has lost its routes
  = error-500
  = 404
  alert water_presence_detected; 1m; cloud $1 list_incidents,read_incident; 10m
       | leak ON; open_incidents null; incident_opened {i1}; open_count null; open ["{i1}"]; Leak at Kitchen, since 09:01. Water is on. The cloud has
       | not confirmed this since 09:01. Not all alerts could be read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; health
       | degraded
  cloud ok; 1m                                                     | open_incidents 1; open_count 1; highest_severity "high"; Leak at Kitchen, since
                                                                   | 09:01. Water is on.; health ok

closes by the answer to a request
  alert water_presence_detected; 1m; cloud error-500 list_incidents,read_incident; 1m; end i1
       | leak ON; open_incidents 1; incident_opened {i1}; open_count 1; highest_severity "high"; open ["{i1}"]; Leak at Kitchen, since 09:01. Water is
       | on. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; health degraded
  cloud error-500 list_incidents; ask bridge/request/read_incident {"params":{"incident_id":"{i1}"}}; 1s
       | leak OFF; open_incidents 0; incident_closed {i1}; open_count 0; highest_severity null; open []; No leaks, water on. sonic2mqtt reports a
       | problem. See Health of the device sonic2mqtt.

# an incident is announced once

also if its sonic becomes known only later
  start; add sonic; cloud error-500 list_sonics; alert water_presence_detected sonic2; put i1 signal_id={signal}; 1m
       | leak null; open_incidents null; incident_opened {i1}
  cloud ok; 5m; see sonic2.leak                                    | sonic2.leak ON; leak OFF; open_incidents 0
  restart; 5m; see sonic2.leak                                     | sonic2.leak ON

although the first list after a restart misses it
  start; alert water_presence_detected; 2m                         | leak ON; open_incidents 1; incident_opened {i1}
  kill; put i1 open=false; boot; 10s; read list_incidents; put i1 open=true; 2m; see i1:open
       | list_incidents 7 times; i1:open true

and once more if it opens again, also if it closed while the bridge did not run
  start; alert water_presence_detected; 2m | leak ON; open_incidents 1; incident_opened {i1}
  kill; put i1 open=false; start; 2m       | leak OFF; open_incidents 0
  put i1 open=true; 2m                     | leak ON; open_incidents 1; incident_opened {i1}
