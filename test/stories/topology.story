@ calm; off

# a filter of properties
watch outcomes health

does not hide a valve, a leak or anything elsewhere of a selected property whose hubs the cloud refuses to list
  @ world.properties=3; world.signals=3; world.sonics=3
  alert water_presence_detected sonic2; alert low_battery_level; end i2; start filters.properties=["{property}","{property2}"]
       | health ok
  watch deletions incidents; stop; read list_property_signals; cloud 403 list_property_signals {property2}; start; 1m
       | list_property_signals 2 times; health degraded: The cloud does not list the hubs of Flat 12
  see sonic2.leak sonic2/availability property2.problem property2.summary property.problem sonic.open_incidents sonic3/availability
       | sonic2.leak ON; sonic2/availability online; property2.problem ON; property2.summary Leak at Bathroom, since 10:00. Not all alerts could be
       | read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; problem OFF; open_incidents 0; sonic3/availability none
  close sonic2; ask i2/action reopen; 1m; see sonic2:valve; read list_property_signals
       | sonic2:valve "closed"; list_property_signals 5 times; ok (2 times); incident_opened {i2}

hides no valve and no leak while a list fails, and then what it does not select
  @ world.properties=2; world.signals=2; world.sonics=2
  = list_properties       | leak ON; health degraded: Cannot read properties: the cloud answered 500 (server error). Retrying
  = list_property_signals | leak ON; health degraded: Could not read all properties: the cloud answered 500 (server error), for property "Willow
                          | Cottage". the cloud answered 500 (server error), for property "Flat 12". Retrying. The cloud does not list the hubs of
                          | Willow Cottage
  alert water_presence_detected; alert low_battery_level; end i2; cloud 500 $1; start filters.properties=["{property}"]; 1m; see sonic.leak
       | …
  close; ask i2/action reopen; 1m                                  | ok (2 times)
  cloud ok; 1h; see sonic.leak sonic/availability sonic2/availability
       | leak ON; sonic/availability online; sonic2/availability none; health ok

what a hub tells without a valve counts in each property that may have the hub
  @ world.properties=3; world.signals=3; world.sonics=3
  = {property2} = water_presence_detected | open [] ["{i1}"] []; open_count 0 null 0; problem OFF ON OFF; open_count 0; property2.summary Leak at Flat
                                          | 12, since 10:00. Not all alerts could be read. sonic2mqtt reports a problem. See Health of the device
                                          | sonic2mqtt.; health degraded: Open alert at hub "Loft hub" without a known valve: Leak. It may be at any
                                          | valve of the hub. Check all of them. The cloud does not list the hubs of Flat 12
  = {property2} = cloud_disconnection     | open [] ["{i1}"] []; open_count 0 null 0; problem OFF ON OFF; open_count 0; property2.summary Connection
                                          | to cloud lost at Flat 12, since 10:00. Not all alerts could be read.; health ok: The cloud does not list
                                          | the hubs of Flat 12
  alert $2 signal2; cloud 403 list_property_signals $1; start; 1m; see properties/incidents:open properties/incidents:open_count properties.problem bridge/incidents:open_count property2.summary
       | …

bridge/incidents has a leak at a known valve if no property can be read
  cloud 403 list_properties; alert water_presence_detected; start; 1m; see bridge.unassigned_incidents bridge/incidents:open sonic.leak
       | unassigned_incidents ON; open ["{i1}"]; leak ON; health degraded: Cannot read properties: the cloud answered 403 (not permitted)

# what Home Assistant can use
@ world.properties=1; world.signals=2; world.sonics=4; world.pageSize=1; stale_after=5m
@ schedules={}; schedules.sonics=2m; schedules.telemetry=5m; schedules.usage=1h

is not what a signal or a sonic without its link measures or does, and nobody says that it moved
  attend; start; weather; kinds                                    | as it should be; bridge bridge; property bridge; property cloud; signal cloud;
                                                                   | signal device; sonic bridge; sonic cloud; sonic device
  watch signal.cloud_connection signal.incident_cloud_disconnection sonic.radio_connection sonic.incident_radio_disconnection sonic.valve
       | cloud_connection ON; incident_cloud_disconnection OFF; radio_connection ON; incident_radio_disconnection OFF; valve open
  hub off; weather {signal} {sonic} {sonic3}; use {sonic} valve_valve close; use {sonic3} valve_valve close
       | as it should be; Error: valve_valve of {sonic} is unavailable and cannot be used; Error: valve_valve of {sonic3} is unavailable and cannot be
       | used; cloud_connection OFF; incident_cloud_disconnection ON; valve open (unavailable)
  radio off; weather {signal} {sonic} {sonic3}                     | as it should be; radio_connection OFF; incident_radio_disconnection ON
  hub on; weather {sonic}                                          | as it should be; cloud_connection ON; incident_cloud_disconnection OFF
  use {sonic} button_resolve_incidents; 1m                         | used; incident_radio_disconnection OFF
  radio on; weather                                                | as it should be; radio_connection ON; valve open

is not a device of which the cloud has told nothing for too long, as a page or a list fails
  = list_sonics page=2 = {sonic2}                                  | as it should be; cloud online; signal2.cloud_connection ON
  = list_signals,read_signal = {signal} {signal2} {sonic} {sonic2} {sonic3} {sonic4}
       | as it should be; cloud online; signal2.cloud_connection null
  attend; start; cloud error-500 $1; weather $2; see cloud signal2.cloud_connection
       | …
  cloud ok; weather                                                | as it should be

is only what is the bridge’s own once the cloud is lost, and nothing at all once the bridge is
  attend; start; weather; keep; cloud error-503; weather cloud; changed; see bridge.cloud bridge.status
       | as it should be (2 times); changed: bridge binary_sensor_cloud,bridge sensor_status,bridge binary_sensor_unassigned_incidents,bridge
       | sensor_requests_last_hour,{property} sensor_summary; cloud OFF; status Cloud unreachable
  cloud ok; 1h; weather; see bridge.status                         | as it should be; status OK
  kill; weather bridge; start; weather; stop; weather bridge       | as it should be (3 times)
