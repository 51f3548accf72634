watch links

# a link that is lost
@ calm; schedules=prompt; schedules.signals=60s

for a single reading makes nothing unavailable; its own entity shows each
  put sonic radio_connection=disconnected; until sonic.radio_connection OFF
  put sonic radio_connection=connected; put signal cloud_connection=disconnected; until signal.cloud_connection OFF
  put signal cloud_connection=connected; 160s; see sonic.radio_connection
       | radio_connection ON
  put sonic radio_connection=disconnected; until sonic.radio_connection OFF
  put sonic radio_connection=connected; put signal cloud_connection=disconnected; until signal.cloud_connection OFF
  put signal cloud_connection=connected; 160s; see sonic/availability* signal/availability*
       | online (2 times)

by two in a row is down, and by one is back
  = put sonic radio_connection  | hub online, valve offline
  = put signal cloud_connection | hub offline, valve offline
  $1=disconnected; 20s
  1m                   | …
  $1=connected; 1m     | hub online, valve online

(cloud) is in doubt at the first reading, and read again within half a minute
  @ schedules.signals=10m
  see summary signal.open_incidents                                | All good. No leaks, water on.; open_incidents 0
  put signal cloud_connection=disconnected; until summary Checking again; see summary
       | Kitchen does not answer. Checking again.
  31s; see signal.open_incidents signal/incidents:open_count       | open_incidents null; open_count null; hub offline, valve offline

(cloud) is known to be back as soon as an incident opens
  @ schedules.signals=10m
  put signal cloud_connection=disconnected; 11m                    | hub offline, valve offline
  put signal cloud_connection=connected; alert water_presence_detected; 40s
       | hub online, valve online

(radio) before the bridge starts is down
  @ off
  put sonic radio_connection=disconnected; start; see sonic.alert | alert null; hub online, valve offline
  put sonic radio_connection=connected; 1m; see sonic.alert       | alert OFF; hub online, valve online

(cloud) before the bridge starts is down, and read again half a minute later
  @ off; schedules.signals=10m; schedules.sonics=10m
  put signal cloud_connection=disconnected; boot; 5s; see signal/availability*
       | offline; hub offline, valve offline
  put signal cloud_connection=connected; 30s; read read_signal     | read_signal 1 times; hub online, valve online

(cloud) is read with the valves while it is down
  @ schedules.signals=10m
  watch log
  put signal cloud_connection=disconnected; 11m                | hub offline, valve offline; info: Hub "Hallway hub": offline: it has no connection to
                                                               | the cloud; info: Valve "Kitchen": offline: its hub is offline
  put signal cloud_connection=connected; 61s; read read_signal | read_signal 2 times; hub online, valve online; info: Hub "Hallway hub": online again;
                                                               | info: Valve "Kitchen": online again
  10m; read read_signal                                        | read_signal 2 times

# a word of the cloud
@ calm; schedules=prompt; schedules.signals=60s
watch health summary sonic.leak

for a link that is not known is neither "no" nor "yes", and health names it once
  = "offline"
  = "lost"
  = ""
  = null
  put sonic radio_connection=$1; 2m                                | health degraded: The cloud does not say whether these devices are connected:
                                                                   | valve "Kitchen" ($1). They may not react, and an alert may be missing. Check them
                                                                   | in the vendor's app; Kitchen: the position of the valve is not known. Not all
                                                                   | alerts could be read. sonic2mqtt reports a problem. See Health of the device
                                                                   | sonic2mqtt.; leak null
  put signal cloud_connection=$1; 10m; see sonic.radio_connection signal.cloud_connection signal.open_incidents property/incidents:open_count
       | radio_connection null; cloud_connection null; open_incidents null; open_count null; health degraded: The cloud does not say whether these
       | devices are connected: hub "Hallway hub" ($1), valve "Kitchen" ($1). They may not react, and an alert may be missing. Check them in the
       | vendor's app
  see warnings sonic/availability* signal/availability*            | warn: The cloud does not say whether these devices are connected: valve "Kitchen"
                                                                   | ($1). They may not react, and an alert may be missing. Check them in the vendor's
                                                                   | app; warn: The cloud does not say whether these devices are connected: hub
                                                                   | "Hallway hub" ($1), valve "Kitchen" ($1). They may not react, and an alert may be
                                                                   | missing. Check them in the vendor's app; online (2 times)
  put sonic radio_connection=disconnected; 1m                      | health degraded: The cloud does not say whether these devices are connected: hub
                                                                   | "Hallway hub" ($1). They may not react, and an alert may be missing. Check them
                                                                   | in the vendor's app; Kitchen does not answer. Checking again. Not all alerts
                                                                   | could be read. sonic2mqtt reports a problem. See Health of the device sonic2mqtt.
  1m                                                               | hub online, valve offline; Kitchen is offline: the valve cannot report a leak,
                                                                   | and can only be closed by hand. sonic2mqtt reports a problem. See Health of the
                                                                   | device sonic2mqtt.

for a hub that a valve does not name makes its link unknown
  put sonic signal_id=null; 10m; see sonic.alert | alert null; health degraded: The cloud does not say whether these devices are connected: valve
                                                 | "Kitchen" (it names no hub). They may not react, and an alert may be missing. Check them in the
                                                 | vendor's app; Kitchen: the position of the valve is not known. Not all alerts could be read.
                                                 | sonic2mqtt reports a problem. See Health of the device sonic2mqtt.; leak null

means the same in capitals
  watch sonic.radio_connection sonic.valve sonic.valve_state sonic.battery_low warnings
       | radio_connection ON; valve open; valve_state open; battery_low OFF
  put sonic valve_state=OPEN; put sonic battery=Low; put sonic radio_connection=Connected; put signal cloud_connection=CONNECTED; 10m
       | The battery of Kitchen is low. No leaks, water on.; battery_low ON

# a link of which the cloud says nothing
@ schedules=prompt

as its hub is in no list, is taken for down
  put sonic signal_id=00000000-0000-4000-8000-000000000000; 1m; see health
       | health degraded: The last list of hubs does not have the hub of valve "Kitchen". The valve is shown as unavailable; hub online, valve offline

as it has none, is no reason for a Wi-Fi sonic to be offline
  @ world.sonics=0; world.wifiSonics=1; off
  put wifi radio_connection=null; start; see wifi/availability | wifi/availability online; hub online, valve online
