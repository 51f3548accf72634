@ calm; world.properties=1; schedules=prompt
watch summary sonic.alert

# the summary of a property

follows valves and alerts
  watch summary sonic.alert                                        | All good. No leaks, water on.; alert OFF
  alert water_presence_detected; 1m; see sonic/homeassistant:alert_words
       | alert_words ["Leak since 09:01"]; Leak at Kitchen, since 09:01. Water is on.; alert ON
  valve closed; 2m                                                 | Leak at Kitchen, since 09:01. Water is off.
  end i1; 1m                                                       | All good. No leaks, water off.; alert OFF

never says that all is well while the alerts could not be read
  stop; watch said; cloud error-500 list_incidents; boot; 10m; see sonic/homeassistant:alert_words
       | alert_words []; Not everything could be read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; alert null; said null; said
       | Reading your account for the first time.; said Not everything could be read. sonic2mqtt reports a problem. See Health of the device
       | sonic2mqtt. (2 times)
  cloud ok; 2m                                                     | All good. No leaks, water on.; alert OFF; said All good. No leaks, water on.

says nothing of all the water while a valve is in no property that is known
  @ world.properties=2; world.signals=2; world.sonics=2; world.wifiSonics=1
  valve closed; valve closed sonic2; valve closed wifi; 3m | All good. No leaks, 0 of 1 valves open.

says for ten minutes why a change was not made, until a newer one is made
  watch summary                                                    | All good. No leaks, water on.
  cloud 403 set; send property/settings/auto_shut_off/set ON       | All good. No leaks, water on. Willow Cottage: the change at 09:01 was not made.
                                                                   | Reason: the cloud answered 403 (not permitted).
  10m; 1m                                                          | All good. No leaks, water on.
  send property/settings/auto_shut_off/set maybe                   | All good. No leaks, water on. Willow Cottage: the change at 09:12 was not made.
                                                                   | Reason: auto_shut_off must be true or false.
  cloud ok; send property/settings/auto_shut_off/set ON            | All good. No leaks, water on.
  pause 5000                                                       | All good. No leaks, water on. Willow Cottage: the change at 09:12 was not made.
                                                                   | Reason: must be whole minutes from 1 to 1440, or 0 to end the pause.
  cloud 403 start_pressure_test; send sonic/pressure_test/start PRESS
       | All good. No leaks, water on. Willow Cottage: the change at 09:12 was not made. Reason: the cloud answered 403 (not permitted).
  cloud ok; send sonic/pressure_test/start PRESS                   | Kitchen: a pressure test is running.

leaves it to a valve to tell of its own commands
  watch summary                              | All good. No leaks, water on.
  cloud 403 move; send sonic/valve/set CLOSE | The command to close Kitchen failed. You asked at 09:01. The valve was not moved: the cloud answered
                                             | 403 (not permitted).

# water last at rest
@ schedules.telemetry=1m
watch sonic.water_at_rest

stands while water runs, also over a restart
  2m; valve closed; 10m                  | All good. No leaks, water off.; water_at_rest 2026-03-02T09:09:28.000Z
  valve open; alert long_flow_alert; 10m | Water running too long at Kitchen, since 09:13. Water is on.; alert ON
  stop; boot; 1m
  20m; kill; boot; 10s
