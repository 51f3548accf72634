# 8: the token lives in memory only: each restart is a sign-in, and a second account gets the first

ten restarts, five of them by power cuts, need one sign-in
  restart; kill; 1m; start; restart; kill; 1m; start; restart; kill; 1m; start; restart; kill; 1m; start; restart; kill; 1m; start
  see health; read sign_in                                         | health ok; sign_in 1 times

it is renewed in time, so that weeks need no other sign-in, wherever the bridge is off for days
  watch status                                                     | health ok
  stop; 9d; 1h; start; 1h; read refresh_token                      | refresh_token 1 times
  stop; 9d; 1h; start; 1h; read refresh_token                      | refresh_token 2 times
  stop; 9d; 1h; start; 1h; stop; 9d; 1h; start; 1h; read refresh_token; read sign_in
       | refresh_token 4 times; sign_in 1 times

# 9: retrying a dead credential locks the account

in ten hours there is an attempt an hour, a few more in the first, and it comes back by itself
  watch status; password; 1m; read sign_in; 5m; read sign_in | sign_in 1 times (2 times); health ok
  54m; read sign_in; others                                  | sign_in 5 times; 18 others; health auth_failed
  9h; read sign_in; others                                   | sign_in 14 times; 18 others
  password demo; valve open; 61m                             | health ok

# 23: the account shows settings only, no valve and no message

a property without a signal is said in the log and in Home Assistant; Wi-Fi sonics are asked for, and it goes by itself
  @ world.signals=0; world.sonics=0; schedules=prompt
  see health bridge.status; say The account has a property, but no hub; read list_wifi_sonics
       | health degraded: The account has a property, but no hub. Add your devices in the vendor's app; status Degraded; said 1 times;
       | list_wifi_sonics 1 times
  add wifi; 2m; see health                                         | health ok

a signal without a sonic is said as well
  @ world.sonics=0
  see health | health degraded: The account has a hub, but no valve. Add your devices in the vendor's app

each list is read once at the start
  @ world.properties=3; world.signals=3; world.sonics=10
  read list_properties; read list_signals; read list_sonics; read list_wifi_sonics; read list_incidents
       | list_properties 1 times; list_signals 1 times; list_sonics 1 times; list_wifi_sonics 1 times; list_incidents 1 times
