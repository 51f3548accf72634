@ calm; schedules=prompt; schedules.signals=5m; schedules.telemetry=5m
watch present links

# after a restart

nothing is available before the bridge is, although the cloud does not answer at all
  3m; see sonic/telemetry:probed_at sonic/usage:total; stop        | probed_at "2026-03-02T09:00:00.000Z"; total 2866.8; not present: any
  cloud hang-before; boot; 20s; order; values property property/settings property/notifications sonic/telemetry
       | first the valve, then the bridge; property has ; property/settings has ; property/notifications has ; sonic/telemetry has ; hub offline,
       | valve offline
  see sonic/usage:today sonic/usage:yesterday sonic/usage:month sonic/usage:total
       | today null; yesterday null; month null; total 2866.8
  cloud ok; 2m                                                     | all present; hub online, valve online

a property that was renamed under its filter is not shown as it was, and is once the name is corrected
  @ off; world.sonics=2; filters.properties=["Home"]
  put property name=Home; alert legionella_risk; alert high_humidity; start; 3m
       | all present; hub online, valve online
  stop; put property name=House; valve closed; alert water_presence_detected; start
       | not present: any; hub offline, valve offline
  40m; end i2; remove sonic2; 3m; see sonic2.valve sonic2/availability i1:open i2:open health
       | sonic2.valve missing; sonic2/availability none; i1:open true; i2:open ; health degraded: filters.properties matches no property of the
       | account. Nothing is shown. Correct the names
  stop; start filters.properties=["House"]; see sonic.valve sonic.leak
       | valve closed; leak ON; all present; hub online, valve online

what the filter no longer selects is offline before it is removed
  @ world.properties=2; world.signals=2; world.sonics=2
  watch sonic/availability*
  stop; start filters.properties=["{property2}"]; 3m; say Deleted  | said 1 times; not present: any; hub undefined, valve undefined; offline; deleted
  say retained messages of removed devices, or of properties outside filters.properties
       | said 1 times

the valves of a page that fails are offline, and their leaks unknown, at their property too
  @ world.sonics=6; world.signals=1; world.pageSize=3
  watch sonics.valve sonics.leak property.problem     | valve open open open open open open; leak OFF OFF OFF OFF OFF OFF; problem OFF
  stop; cloud error-500 list_sonics page=2; start; 1m | not present: binary_sensor_problem sensor_open_incidents; valve open open open null
                                                      | (unavailable) null (unavailable) null (unavailable); leak OFF OFF OFF null null null; problem
                                                      | null
  cloud ok; 2m                                        | all present; valve open open open open open open; leak OFF OFF OFF OFF OFF OFF; problem OFF

and a list that fails nothing is shown that it tells of
  = list_properties        | not present: binary_sensor_problem sensor_open_incidents switch_auto_shut_off switch_active // all present
  = list_property_signals  | not present: binary_sensor_problem sensor_open_incidents // all present
  = read_property_settings | not present: switch_auto_shut_off // all present
  = list_signals           | not present: binary_sensor_problem sensor_open_incidents binary_sensor_cloud_connection sensor_wifi_rssi valve_valve
                           | binary_sensor_incident_water_presence_detected sensor_water_today sensor_battery sensor_flow; hub offline, valve offline
                           | // all present; hub online, valve online
  = read_telemetry         | not present: sensor_flow // all present
  = read_daily_usage       | not present: sensor_water_today // all present
  = list_incidents         | not present: binary_sensor_problem sensor_open_incidents binary_sensor_incident_water_presence_detected // all present
  3m; stop; cloud error-500 $1; start; 1m | …
  cloud ok; 10m                           | …

the log names what is offline because of a list that fails, and says when it is back
  @ world.properties=2; world.signals=2; world.sonics=7
  = list_signals          | health degraded: Cannot read hubs: the cloud answered 403 (not permitted). Offline, because not read since the start: hub
                          | "Hallway hub", hub "Loft hub"; not present: binary_sensor_problem sensor_open_incidents binary_sensor_cloud_connection
                          | sensor_wifi_rssi valve_valve binary_sensor_incident_water_presence_detected sensor_water_today sensor_battery sensor_flow;
                          | hub offline, valve offline; info: 7 devices (valve "Kitchen", valve "Bathroom", valve "Garden tap", valve "Utility room",
                          | valve "Boiler" and others): offline: its hub was not read; info: Hub "Hallway hub": offline: not read since the start.
                          | Cannot read hubs: the cloud answered 403 (not permitted); info: Hub "Loft hub": offline: not read since the start. Cannot
                          | read hubs: the cloud answered 403 (not permitted) // all present; hub online, valve online; info: 9 devices (hub "Hallway
                          | hub", hub "Loft hub", valve "Kitchen", valve "Bathroom", valve "Garden tap" and others): online again
  = list_sonics           | health degraded: Cannot read valves: the cloud answered 403 (not permitted). Offline, because not read since the start:
                          | valve "Kitchen", valve "Bathroom", valve "Garden tap", valve "Utility room", valve "Boiler" and others; not present:
                          | binary_sensor_problem sensor_open_incidents valve_valve binary_sensor_incident_water_presence_detected
                          | binary_sensor_radio_connection sensor_water_today sensor_battery sensor_flow; hub online, valve offline; info: 7 devices
                          | (valve "Kitchen", valve "Bathroom", valve "Garden tap", valve "Utility room", valve "Boiler" and others): offline: not
                          | read since the start. Cannot read valves: the cloud answered 403 (not permitted) // all present; hub online, valve online;
                          | info: 7 devices (valve "Kitchen", valve "Bathroom", valve "Garden tap", valve "Utility room", valve "Boiler" and others):
                          | online again
  = list_property_signals | health ok: The cloud does not list the hubs of Willow Cottage, Flat 12; not present: binary_sensor_problem
                          | sensor_open_incidents // all present
  watch named; 3m; restart
  stop; cloud 403 $1; start; 10m; see health | …
  cloud ok; refresh; 2m                      | …

and that the cloud no longer lists, while another list fails
  @ world.sonics=2
  watch named; 3m; stop; remove sonic2; cloud 403 list_incidents; start; 2m; see health
       | health degraded: Cannot read incidents: the cloud answered 403 (not permitted). Offline, because not read since the start: valve "Bathroom";
       | not present: binary_sensor_problem sensor_open_incidents binary_sensor_incident_water_presence_detected; info: Valve "Bathroom": offline: the
       | cloud does not list it. It is removed once all lists were read
  cloud ok; refresh; 2m; see sonic2/availability                   | sonic2/availability none; all present

and that the filter leaves out
  @ world.properties=2; world.signals=2; world.sonics=2
  watch named; 3m; stop; cloud 403 list_incidents; start filters.properties=["{property2}"]; 2m
       | not present: any; hub offline, valve offline; info: Hub "Hallway hub": offline: filters.properties leaves it out; info: Valve "Kitchen":
       | offline: filters.properties leaves it out

# in a run

what was read too long ago of a property is unknown
  @ schedules.properties=10m
  2m; cloud error-500 list_properties; 40m; values property | property has ; not present: binary_sensor_problem sensor_open_incidents
                                                            | switch_auto_shut_off switch_active
  cloud ok; 20m                                             | all present

a hub that was read too long ago makes its valves unavailable
  cloud error-500 list_signals,read_signal; 30m | not present: binary_sensor_problem sensor_open_incidents binary_sensor_cloud_connection
                                                | sensor_wifi_rssi valve_valve binary_sensor_incident_water_presence_detected sensor_water_today
                                                | sensor_battery sensor_flow; hub offline, valve offline
  cloud ok; 10m                                 | all present; hub online, valve online

a reconnection sets nothing offline that was read
  3m; watch sonic/availability* signal/availability*; broker cut; 3m
       | online (2 times)

a hub is not connected beside its own open incident, and is back with its valves as that closes
  3m; watch signal.cloud_connection                                | cloud_connection ON
  hub off; until signal.incident_cloud_disconnection ON            | not present: sensor_wifi_rssi valve_valve
                                                                   | binary_sensor_incident_water_presence_detected sensor_water_today sensor_battery
                                                                   | sensor_flow; hub offline, valve offline; cloud_connection OFF
  5s
  10m
  hub on; until signal.incident_cloud_disconnection OFF; 5s; see sonic.valve
       | valve open; not present: sensor_flow; hub online, valve online; cloud_connection ON

a hub is believed that is connected by a later reading, although its incident stays open
  @ off
  alert cloud_disconnection signal; boot; 10s; see signal.incident_cloud_disconnection signal.cloud_connection
       | incident_cloud_disconnection ON; cloud_connection ON; all present; hub online, valve online
