@ calm; world.signals=2; world.sonics=4; schedules=prompt

# what only a valve can report

is unknown in its property while the valve is out of reach and none is open, over restarts
  @ world.properties=2
  watch properties.problem properties.open_incidents properties.highest_severity
       | problem OFF OFF; open_incidents 0 0; highest_severity none none
  put sonic radio_connection=disconnected; 3m; see property/incidents:open_count
       | open_count null; problem null OFF; open_incidents null 0; highest_severity null none
  restart
  alert radio_disconnection; 1m                                    | problem ON OFF; open_incidents 1 0; highest_severity medium none
  end i1; put sonic radio_connection=connected; 2m                 | problem OFF OFF; open_incidents 0 0; highest_severity none none

# an incident that cannot be shown, as its id is not safe in a topic

makes unknown what it may be, and is forgotten with the next list
  watch sonic.leak sonic.alert sonic.open_incidents property.problem summary health
       | leak OFF; alert OFF; open_incidents 0; problem OFF; All good. No leaks, water on.; health ok
  fault unsafe-id list_incidents; 12m                              | leak null; alert null; open_incidents null; problem null; Not all alerts could be
                                                                   | read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; health
                                                                   | degraded: Could not read all incidents: records without a usable id: 1. Retrying.
                                                                   | Unexpected data from the cloud: list_incidents: a record was skipped: its id is
                                                                   | not safe in a topic: "un/safe"
  restart                                                          | Not everything could be read. sonic2mqtt reports a problem. See Health of the
                                                                   | device sonic2mqtt.
  fault; 2m                                                        | leak OFF; alert OFF; open_incidents 0; problem OFF; All good. No leaks, water
                                                                   | on.; health ok

# an incident of which a part is known
watch sonics.leak sonics.open_incidents property.open_incidents bridge.unassigned_incidents health

is at its hub, and may be at each valve of that, where its sonic is not known
  = null
  = sonic-of-nobody
  watch incidents
  alert water_presence_detected; put i1 sonic_id=$1; put i1 signal_id={signal}; 1m
       | leak null OFF null OFF; open_incidents null 0 null 0; open_incidents 1; health degraded: Open alert at hub "Hallway hub" without a known
       | valve: Leak. It may be at any valve of the hub. Check all of them; incident_opened {i1}
  see signal/incidents:open_count sonics/incidents:open_count sonics.incident_high_humidity; near
       | open_count 1; open_count null 0 null 0; incident_high_humidity OFF OFF OFF OFF; {sonic}; {sonic3}
  restart
  end i1; 1m                                                       | leak OFF OFF OFF OFF; open_incidents 0 0 0 0; open_incidents 0; health ok;
                                                                   | incident_closed {i1}

is at its valve and may be of any type there, where its type is no word
  = null | leak null OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; health degraded: Open alert of an unknown type at valve "Kitchen". It may
         | be any alert. Check the valve
  = 7    | leak null OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; health degraded: Open alert of an unknown type at valve "Kitchen". It may
         | be any alert. Check the valve. Unexpected data from the cloud: list_incidents: type has an unexpected value (expected string, received
         | number)
  = ""   | leak null OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; health degraded: Open alert of an unknown type at valve "Kitchen". It may
         | be any alert. Check the valve. Unexpected data from the cloud: list_incidents: unknown value of type: ""
  = {}   | leak null OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; health degraded: Open alert of an unknown type at valve "Kitchen". It may
         | be any alert. Check the valve. Unexpected data from the cloud: list_incidents: type has an unexpected value (expected string, received
         | object)
  alert water_presence_detected; put i1 type=$1; 1m | …
  types                                             | all types [null]

is at its valve however the ids and the type are spelled
  @ unjudged=The oracle tells ids apart by their case
  watch incidents
  alert water_presence_detected; put i1 sonic_id={SONIC}; put i1 signal_id=null; put i1 type=WATER_PRESENCE_DETECTED; 1m
       | leak ON OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; incident_opened {i1}

a list that spells its ids in capitals is about the devices that are known
  @ unjudged=The oracle tells ids apart by their case
  watch outcomes sonic.valve                                       | valve open
  topics; capitals; alert water_presence_detected; refresh; 3m; see links; topics
       | hub online, valve online; gone: , come: ; leak ON OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; ok
  ask sonic/{SONIC}/valve/set CLOSE; 2m                            | ok; valve closed

has no highest severity as long as one of them cannot be ranked
  watch property.highest_severity                                  | highest_severity none
  alert water_presence_detected; put i1 severity=low; 1m           | leak ON OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1; highest_severity
                                                                   | low
  alert water_presence_detected; put i2 severity=critical; 1m; see property/incidents:highest_severity
       | highest_severity null; open_incidents 2 0 0 0; open_incidents 2; health ok: Unexpected data from the cloud: list_incidents: unknown value of
       | severity: "critical"; highest_severity null

that only a device can report is unknown while that is offline
  put sonic radio_connection=disconnected; 3m; see links sonic.incident_radio_disconnection
       | hub online, valve offline; incident_radio_disconnection OFF; leak null OFF OFF OFF; open_incidents null 0 0 0; open_incidents null
  alert water_presence_detected; 1m                                | leak ON OFF OFF OFF; open_incidents 1 0 0 0; open_incidents 1

at a Wi-Fi valve in one of several properties counts in each of them
  @ world.properties=2; world.signals=2; world.sonics=1; world.wifiSonics=1
  @ unjudged=The oracle knows the property of the valve, which the cloud does not tell
  watch wifi.leak properties.problem properties.open_incidents     | leak OFF; problem OFF OFF; open_incidents 0 0
  alert water_presence_detected wifi; put i1 signal_id=null; 1m; see property.summary property2.summary
       | summary Leak at Mains, since 09:01.; property2.summary Leak at Mains, since 10:01. There is no valve to show.; open_incidents 1; leak ON;
       | problem ON ON; open_incidents 1 1

# a refusal as the first answer after a start
watch health

takes no Wi-Fi valve away that is known, also by the broker alone, and is asked for again
  @ world.wifiSonics=1
  = files
  = broker
  2m; topics; stop; lose $1; cloud 404 list_wifi_sonics; start; 10m; topics
       | gone: , come: ; health degraded: Could not read all valves: Wi-Fi valves: the cloud answered 404 (not found). Retrying. Offline, because not
       | read since the start: valve "Mains"
  cloud ok; 10m; see wifi/availability                             | wifi/availability online; health ok

of the settings takes switches away after a while, and is told once, also where the last run has shown them; an error takes none away
  @ schedules.properties=5m
  watch property.auto_shut_off                      | auto_shut_off OFF
  2m; kill; cloud 403 read_property_settings; start | health degraded: Could not read all properties: the cloud answered 403 (not permitted), for
                                                    | property "Willow Cottage". Retrying; auto_shut_off null
  16m; say The cloud does not provide the settings  | said 1 times; health ok: The cloud does not provide the settings of Willow Cottage. Their
                                                    | controls are missing. Days begin by the last known time zone, or else by schedules.timezone;
                                                    | auto_shut_off missing
  restart
  cloud ok; restart                                 | health ok; auto_shut_off OFF
  cloud 500 read_property_settings; 30m             | health degraded: Could not read all properties: the cloud answered 500 (server error), for
                                                    | property "Willow Cottage". Retrying; auto_shut_off null

of the settings takes switches away at once, and is told, where no run has shown them
  @ schedules.properties=5m; off
  cloud 403 read_property_settings; start; see property.auto_shut_off
       | auto_shut_off missing; health ok: The cloud does not provide the settings of Willow Cottage. Their controls are missing. Days begin by the
       | last known time zone, or else by schedules.timezone
  5m; see property.auto_shut_off; say The cloud does not provide the settings
       | auto_shut_off missing; said 1 times
  cloud ok; restart; see property.auto_shut_off                    | auto_shut_off OFF; health ok

# the day of a valve begins by the last known time zone

while settings are refused, stale or without one, and over restarts
  @ world.properties=1; begins=2026-03-01T06:00:00Z; off
  @ schedules.properties=10m; schedules.sonics=5m; schedules.incidents=5m; schedules.telemetry=1h
  put settings timezone=America/New_York; start; 1m; watch sonic/usage:last_reset
       | last_reset "2026-03-01T00:00:00-05:00"
  cloud 500 read_property_settings; 40m; restart; 40m
  cloud ok; 10m; cloud 403 read_property_settings; 40m; restart; 40m
  cloud ok; 10m; cloud 200 read_property_settings; 40m; restart; 40m
