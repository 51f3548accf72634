@ off; calm; world.sonics=2; stale_after=24h
@ schedules.incidents=1h; schedules.sonics=1h; schedules.signals=1h; schedules.usage=1h; schedules.telemetry=1h
watch asks outcomes incidents

# the button that resolves incidents

resolves or dismisses those of its sonic, as each offers, and no others, by the cloud's answers alone
  alert high_volume_alert sonic resolve dismiss snooze; alert low_temperature sonic dismiss; alert device_handle_moved sonic2 resolve; start
       | incident_opened {i3}; incident_opened {i2}; incident_opened {i1}
  cloud hang-before list_incidents; press sonic resolve_incidents; 1s; see open i1:open i2:open i3:open sonic.open_incidents
       | open: {i3}; i1:open ; i2:open ; i3:open true; open_incidents 0; asks action:dismiss of {i2}; asks action:resolve of {i1}; ok; incident_closed
       | {i2}; incident_closed {i1}

of a property reaches all that hangs on it, and says if there is nothing to resolve
  alert high_volume_alert sonic resolve; alert low_temperature sonic2 dismiss; alert cloud_disconnection signal resolve; start
       | incident_opened {i3}; incident_opened {i2}; incident_opened {i1}
  press property resolve_incidents; 1s; see open property.problem  | open: ; problem OFF; asks action:resolve of {i3}; asks action:dismiss of {i2};
                                                                   | asks action:resolve of {i1}; ok; incident_closed {i3}; incident_closed {i1};
                                                                   | incident_closed {i2}
  send property/incidents/action resolve; send sonic/incidents/action resolve
       | refused: there is no open alert (2 times)

# an action

acts only on incidents that offer it, and is refused with what is offered where none does
  alert high_volume_alert sonic resolve snooze; alert low_temperature sonic dismiss; alert cloud_disconnection signal resolve; start
       | incident_opened {i3}; incident_opened {i2}; incident_opened {i1}
  send sonic/incidents/action snooze; 1s; see open i1:snoozed_until
       | open: {i1} {i2} {i3}; i1:snoozed_until "2026-03-03T09:01:00.020Z"; asks action:snooze of {i1}; ok; incident_changed {i1}
  send sonic/incidents/action snooze                               | refused: no open alert offers this action. Possible actions: dismiss, resolve
  send signal/incidents/action dismiss                             | refused: no open alert offers this action. Possible actions: resolve
  send i2/action resolve                                           | refused: must be one of dismiss. Got "resolve"
  send incident/a'b/action reopen                                  | refused: there is no incident a'b
  send incident/nobody/action reopen                               | refused 404: there is no incident nobody
  send i2/action dismiss; send i3/action resolve                   | asks action:dismiss of {i2}; asks action:resolve of {i3}; ok (2 times);
                                                                   | incident_closed {i2}; incident_closed {i3}

of one that is closed is what it offers then: it can be reopened, and is announced again
  alert low_temperature sonic dismiss; start | incident_opened {i1}
  send i1/action dismiss; 1s; see i1:open    | i1:open ; asks action:dismiss of {i1}; ok; incident_closed {i1}
  send i1/action dismiss                     | refused: must be one of reopen. Got "dismiss"
  send i1/action reopen; 10s; see i1:open    | i1:open true; asks action:reopen of {i1}; ok; incident_opened {i1}

of one that is closed is carried out also while the account is read for the first time
  @ world.properties=2; world.signals=2
  alert low_temperature sonic dismiss; end i1; cloud hang-before list_property_signals; boot; 1s; send i1/action reopen; 1s; see health
       | health degraded: Connected, reading the account for the first time; asks action:reopen of {i1}; ok; incident_opened {i1}

that only some incidents take is an error that counts them, and what is true is read again
  alert high_volume_alert sonic dismiss; alert low_temperature sonic dismiss; alert high_humidity sonic dismiss; alert low_temperature sonic2 dismiss; start
       | incident_opened {i4}; incident_opened {i3}; incident_opened {i2}; incident_opened {i1}
  end i1; send sonic/incidents/action resolve; 1m; see sonic.open_incidents
       | open_incidents 0; asks action:dismiss of {i3}; asks action:dismiss of {i2}; asks action:dismiss of {i1}; error 422: 1 of 3 failed: the cloud
       | answered 422 (the values are not accepted): action dismiss is not possible, only reopen; incident_closed {i3}; incident_closed {i2};
       | incident_closed {i1}
  end i4; send i4/action dismiss; 1m; see sonic2.open_incidents    | sonic2.open_incidents 0; asks action:dismiss of {i4}; error 422: the cloud
                                                                   | answered 422 (the values are not accepted): action dismiss is not possible, only
                                                                   | reopen; incident_closed {i4}

ends an incident once: a list that was asked for before does not bring it back
  @ schedules.incidents=10s
  alert high_volume_alert sonic resolve; start; watch log; send i1/action resolve; 5m; deletions i1
       | deleted 1 times; asks action:resolve of {i1}; ok; incident_opened {i1}; incident_closed {i1}; info: Sending act_on_incident to the cloud:
       | resolve (MQTT command); info: Alert closed: High water use at "Kitchen", severity high

is refused, and has no button, where control.incidents is off
  @ control.incidents=false
  alert high_volume_alert sonic resolve; start; see sonic.resolve_incidents property.resolve_incidents
       | resolve_incidents missing (2 times); incident_opened {i1}
  send i1/action resolve; send sonic/incidents/action resolve      | refused: not permitted: control.incidents is off in the configuration (2 times)

# the start of a pressure test

starts one, and once only although the cloud breaks off
  start; watch log; cloud reset-before start_pressure_test; send sonic/pressure_test/start PRESS
       | asks source:sonic2mqtt; error: the connection to cloud.example.com broke before the answer was complete; info: Sending start_pressure_test to
       | the cloud (MQTT command); warn: Command pressure_test/start for "Kitchen" failed: the connection to cloud.example.com broke before the answer
       | was complete
  cloud ok; send sonic/pressure_test/start PRESS; 1s; see sonic.pressure_test_running sonic:valve sonic:valve_state sonic/pressure_tests:job_id
       | pressure_test_running ON; valve "open"; valve_state "pressure_test"; job_id "a11b84e0-bf48-4dd9-9fb8-14824c215ca6"; asks source:sonic2mqtt;
       | ok; info: Sending start_pressure_test to the cloud (MQTT command)
  send sonic/pressure_test/start PRESS                             | asks source:sonic2mqtt; error 409: the cloud answered 409 (conflict): a pressure
                                                                   | test is running; info: Sending start_pressure_test to the cloud (MQTT command);
                                                                   | warn: Command pressure_test/start for "Kitchen" failed: the cloud answered 409
                                                                   | (conflict): a pressure test is running
  2m; see sonic.pressure_tests_today                               | pressure_tests_today 1

# the opening of an incident

at a sonic that was just added is announced once
  @ schedules.incidents=10s
  start; add sonic; alert high_volume_alert sonic3 resolve; put i1 signal_id={signal}; 1m
       | incident_opened {i1}
