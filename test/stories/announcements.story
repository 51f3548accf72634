@ schedules.incidents=10s; schedules.sonics=10s; schedules.properties=20s
watch incidents

# an incident

is announced only once it is noted on disk, so that no crash announces it twice
  hold; alert high_humidity; held; 2s; see i1:open | i1:open true
  release; 1m                                      | incident_opened {i1}

that opened while the disk was busy with another is announced without a further poll
  @ schedules.incidents=1h; schedules.sonics=1h; schedules.properties=1h; schedules.telemetry=1h; schedules.signals=1h
  @ schedules.usage=1h; schedules.pressure_tests=1h
  hold; alert high_humidity; refresh; until i1:open true; held
  alert low_temperature; refresh; until i2:open true
  release; 1m                                                  | incident_opened {i1}; incident_opened {i2}

waits for nobody who publishes as Home Assistant does
  = offline
  = online
  watch sonic.leak                                                 | leak OFF
  broker cut; 1s; status $1; alert water_presence_detected; until i1:open true; 1s
       | incident_opened {i1}; leak ON

that stays open is announced no second time after a restart
  alert high_humidity; 1m            | incident_opened {i1}
  restart; alert low_temperature; 1m | incident_opened {i2}

that stays open is announced no second time after a restart without the data of before
  alert high_humidity; 1m                      | incident_opened {i1}
  stop; lose; start; alert low_temperature; 1m | incident_opened {i2}

# the bridge

is online again if the broker publishes an old last will, but at most every five seconds
  ask bridge/state offline; 1s; ask bridge/state offline; 3s; see bridge/state*
       | online; offline; online; offline
  2s; see bridge/state*                                            | online; offline; online; offline; online

is offline as soon as it vanishes, and when it has said goodbye
  watch bridge/state                   | bridge/state online
  broker away; 1s                      | bridge/state offline
  broker ok; until bridge/state online | bridge/state online
  stop                                 | bridge/state offline
