# 4: no errors, but the telemetry is old and nothing says so
@ schedules={}
watch sonic/telemetry:flow_l_min sonic/telemetry:probed_at about status

its values are unknown as soon as they are older than stale_after, between two polls too; their time stays, and the log says so once
  @ off
  silence; start; 3m                                               | flow_l_min 5.661; probed_at "2026-03-02T09:00:00.000Z"; health ok
  61s                                                              | flow_l_min null
  10m; see sonic.flow sonic.telemetry_time sonic.valve health summary
       | flow null; telemetry_time 2026-03-02T09:00:00.000Z; valve open; health degraded: No new measurements from "Kitchen". Flow, pressure and
       | temperature are unknown. Check the batteries and the hubs; Water running too long at Kitchen, since 09:00. Water is on. sonic2mqtt reports a
       | problem. See Health of the device sonic2mqtt.; warn: No new measurements from "Kitchen". Flow, pressure and temperature are unknown. Check
       | the batteries and the hubs; health degraded
  measure; 10m                                                     | flow_l_min 5.661; probed_at "2026-03-02T09:24:28.000Z"; info: Everything works;
                                                                   | health ok

its values are unknown no sooner than a schedule of hours can renew them, between two polls too
  @ off; schedules=leisurely; schedules.telemetry=1h
  silence; start; 118m | flow_l_min 5.661; probed_at "2026-03-02T09:00:00.000Z"; health ok
  121s                 | flow_l_min null
  measure; 121m        | flow_l_min 5.661; probed_at "2026-03-02T12:57:28.000Z"

the clock of the machine is not what it is judged by
  @ off
  = 1h
  = -1h
  clock $1; silence; start; see sonic/telemetry:flow_l_min | flow_l_min 5.661 (2 times); probed_at "2026-03-02T09:00:00.000Z"; health ok
  5m                                                       | flow_l_min null

a cloud that is away changes no value; one that is back does not show what has grown old meanwhile
  watch cloud                      | cloud online
  cloud refused; 20m               | health cloud_unreachable; cloud offline
  cloud refused read_telemetry; 6m | flow_l_min null; health degraded; cloud online

# 5: it goes offline many times a day
@ schedules={}

no outage below five minutes makes anything unavailable; each is a few lines of the log, not one an attempt
  watch cloud sonic/availability* signal/availability* bridge/cloud*
       | cloud online
  10m; watch lines; cloud reset-before; 70s; failures; cloud ok; 8m
       | has failed; a line of the log (4 times)
  cloud reset-before; 110s; failures; cloud ok; 8m                 | has failed; a line of the log (4 times)
  cloud reset-before; 150s; failures; cloud ok; 8m                 | has failed; a line of the log (4 times)

# 6: the vendor's domain expires, and "invalid credentials" is said for days

it says what it is, and asks for no other password, also where nobody is signed in any more
  = html        | health degraded: Cannot read valves, incidents, measurements: the cloud's answer is not JSON: <html>Maintenance</html>. Retrying //
                | health degraded: Cannot read properties, hubs, valves, incidents: cannot sign in: the cloud's answer is not JSON. Retrying.
                | Connected, reading the account for the first time
  = refused     | health cloud_unreachable: No data from the cloud: connection refused by cloud.example.com. Retrying // health cloud_unreachable: No
                | data from the cloud: cannot sign in: connection refused by cloud.example.com. Retrying
  = error-502   | health cloud_unreachable: No data from the cloud: the cloud answered 502 (server error). Retrying // health cloud_unreachable: No
                | data from the cloud: cannot sign in: the cloud answered 502 (server error). Retrying
  = hang-before | health cloud_unreachable: No data from the cloud: timeout: cloud.example.com without an answer after 10 s. Retrying // health
                | cloud_unreachable: No data from the cloud: cannot sign in: timeout: cloud.example.com without an answer after 10 s. Retrying
  watch health blames; cloud $1; 1h | …
  stop; lose; start; 1h             | …
  cloud ok; 1h                      | health ok

# 19: 5406 identical errors in an evening without internet
@ schedules={}

three hours are a line at the beginning, one an hour, and one with the duration at the end
  watch log; cloud refused; 3h | warn: Cannot read valves, measurements: connection refused by cloud.example.com. Retrying; warn: Cloud: connection
                               | refused by cloud.example.com. Retrying; warn: No fresh data from the cloud: connection refused by cloud.example.com.
                               | Entities are now unavailable; warn: Cloud: offline for 60 min, many attempts: connection refused by
                               | cloud.example.com; warn: Cloud: offline for 2 h, many attempts: connection refused by cloud.example.com
  cloud ok; 15m                | info: Cloud: works again after 3 h (many failed attempts); info: The cloud does not list the hubs of Willow Cottage;
                               | info: Everything works

with seldom schedules, a failure that is over is not told after the end
  @ schedules=leisurely
  watch log; cloud refused; 3h | warn: Cloud: connection refused by cloud.example.com. Retrying; warn: No fresh data from the cloud: connection
                               | refused by cloud.example.com. Entities are now unavailable; warn: Cloud: offline for 60 min, many attempts:
                               | connection refused by cloud.example.com; warn: Cloud: offline for 2 h, many attempts: connection refused by
                               | cloud.example.com
  cloud ok; 15m                | info: Cloud: works again after 3 h (many failed attempts); info: Everything works
