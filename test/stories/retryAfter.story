# a cloud that is asked too much
@ schedules={}
watch health cloud outcomes sonic:valve

is left in peace for as long as it says, and a command meanwhile is not carried out, nor sent again
  = seconds = 20                 | waits 21 s, told a few times; 1 valve commands // 1 valve commands; health ok; cloud online
  = a fraction of a second = 0.5 | waits 1 s, told a few times; 3 valve commands // 3 valve commands; health ok; cloud online
  = a date = in 30s              | waits 30 s, told a few times; 1 valve commands // 1 valve commands; health ok; cloud online
  = nothing = none               | waits some s, told a few times; 3 valve commands // 3 valve commands; health ok; cloud online
  = nothing sensible = soon      | waits some s, told a few times; 3 valve commands // 3 valve commands; health ok; cloud online
  = less than nothing = -5       | waits 0 s, told a few times; 3 valve commands // 3 valve commands; health ok; cloud online
  = a date that is past = in -1h | waits 0 s, told a few times; 3 valve commands // 3 valve commands; health ok; cloud online
  limit $2; close; 6m | health degraded: Cannot read hubs, valves, incidents, measurements: the cloud answered 429 (too many requests). Retrying;
                      | cloud offline; error 429: the cloud answered 429 (too many requests)
  longest; sent       | …
  cloud ok; 7m; sent  | …

is left in peace for an hour at most, but for urgent commands; no wish keeps it from valves and leaks for longer than ten minutes
  = a year = 31536000
  = doomsday = Fri, 31 Dec 9999 23:59:59 GMT
  limit $2; 6m; longest                                         | waits 3600 s, told a few times; health degraded: Cannot read hubs, valves,
                                                                | incidents, measurements: the cloud requests a wait until 2026-03-02 10:05 UTC.
                                                                | Retrying; cloud offline
  cloud ok; read list_sonics; close; 3m; sent; read list_sonics | list_sonics 2 times; 1 valve commands; list_sonics 2 times; ok; valve "closed"
  3m; read read_telemetry; refresh; 1m; read read_telemetry     | read_telemetry 2 times (2 times); health degraded: Cannot read hubs, measurements:
                                                                | the cloud requests a wait until 2026-03-02 10:05 UTC. Retrying; cloud online; ok
  66m                                                           | health ok
