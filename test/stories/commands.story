# while the cloud is away
@ off; world.properties=2; world.signals=2; world.sonics=4

a command of any kind fails once, in time, and is not sent later
  = where it answers 503 = 503                | 18 kinds: error 503; 0 sent twice
  = where it asks to wait for a minute = wait | 18 kinds: error 429, refused; 0 sent twice
  = where it never answers = hang-before      | 18 kinds: error; 0 sent twice
  = where nobody listens = refused            | 18 kinds: error; 0 sent twice
  stage; keep; trouble $2; all; twice          | …
  trouble ok; refresh; 30m; see cloud; changed | cloud online; nothing has changed, 0 sent since

# while nobody is signed in, a command of any kind
@ off; world.properties=2; world.signals=2; world.sonics=4

fails once with the reason where the password is rejected, and is not sent later
  stage; keep; password; all                      | 18 kinds: error, error 401
  password demo; refresh; 1h; see health; changed | health ok; nothing has changed, 0 sent since

is carried out once where the token was revoked meanwhile
  stage; expire; all; twice | 18 kinds: ok 200; 0 sent twice

fails within the time of one sign-in more where that hangs, and is not sent later
  stage; keep; expire; cloud hang-before sign_in,refresh_token; all
       | 18 kinds: error
  cloud ok; refresh; 30m; changed                                  | nothing has changed, 0 sent since

# of valve commands in quick succession
watch asks outcomes

several at once are one request: what is still connecting gives way to the newest
  = the same twice = close      | asks action:close; superseded: a newer command for this valve arrived; ok
  = opposite ones = open; close | asks action:close; superseded: a newer command for this valve arrived (2 times); ok
  $2; close; 2m | …

one that hangs at the cloud is given up for a newer one, which is sent with most of its time left
  cloud hang-after move "open"; open; 1s | asks action:open
  close; 5s                              | asks action:close; error: no answer before a newer command for this valve. The cloud may still carry it
                                         | out; ok
  2m; see sonic:valve                    | valve "closed"

opposite ones end where the last one says, confirmed once, and the first is not shown as failed
  close; 1s; open; 5m; see sonic:valve; shown; say : open after; say : closed after; say not_confirmed
       | valve "open"; shown as open, closing, opening; said 1 times; said 0 times (2 times); asks action:close; asks action:open; ok (2 times)

one that the broker delivers again moves no valve again, with MQTT version
  @ isWired; mqtt.protocol_version=$1
  = 5
  = 4
  deliver CLOSE 7; deliver CLOSE 7 again     | asks action:close; ok
  deliver OPEN 8 again; deliver OPEN 8 again | asks action:open; ok
  deliver CLOSE 7; stop                      | asks action:close; ok

# of many valve commands
@ world.properties=3; world.signals=3; schedules={}; world.sonics=$3

none keeps a vital list from being asked for at least once a minute
  = all thirty valves close at once = 30 1 90s = 30
  = twelve commands come in each second = 12 75 15s = 12
  flood $2
