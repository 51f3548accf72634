@ schedules.usage=1m; schedules.pressure_tests=1m

# the water that has run

is that of the cloud, day by day and in total, and follows its corrections, also over a restart
  same; stop; correct 2026-02-05 1.5; start; same                  | the same as in the cloud (2 times)
  correct 2026-03-01 1234.5; 2m; see sonic/usage:yesterday; same; smallest
       | yesterday 1234.5; the same as in the cloud; smaller totals: , never none, now right

is read early on request, with the pressure tests, which are shown by day
  @ schedules.usage=6h; schedules.pressure_tests=6h
  watch sonic/pressure_tests:last_day sonic/pressure_tests:today_count sonic.pressure_tests_today sonic.pressure_test_last_day
       | last_day null; today_count 0; pressure_tests_today 0; pressure_test_last_day null
  test; test; correct 2026-03-01 1234.5; refresh; 1m; see sonic/usage:yesterday
       | yesterday 1234.5; last_day "2026-03-02"; today_count 2; pressure_tests_today 2; pressure_test_last_day 2026-03-02

has no topic and no entity if the cloud does not offer it, and what is left over goes
  watch sonic.water_today sonic.water_total sonic.pressure_tests_today sonic/pressure_tests:today_count status
       | water_today 33.7; water_total 2866.8; pressure_tests_today 0; today_count 0; health ok
  stop; start cloud.routes={"read_daily_usage":null,"read_pressure_tests":null}; 10m; see sonic/usage sonic/pressure_tests
       | sonic/usage none; sonic/pressure_tests none; water_today missing; water_total missing; pressure_tests_today missing; today_count

has no smaller total after a restart where the run before could not write on the disk either, and the broker has lost it
  stop; disk EROFS; start; correct 2026-03-01 5000; 5m; mark; kill; forget /usage; start; 5m; smallest
       | smaller totals: , never none, now right

has no smaller total than the broker where the file is one of before
  stop; save; start; correct 2026-03-01 5000; 5m; mark; kill; older; start; 1m; smallest
       | smaller totals: , never none, now right

has no total on a disk that cannot be used, and the rest works
  @ off
  disk EROFS; start; see sonic/usage:total sonic/usage:month sonic/usage:yesterday health
       | total null; month 128.5; yesterday 94.8; health degraded: data_dir /data: cannot write to the folder (EROFS: EROFS). Water totals will start
       | again after a restart
  disk ok; 1h; smallest                                            | smaller totals: , once none, now right
