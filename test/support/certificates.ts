import type { Certificate } from './faultyCloud.ts';

// One key for several certificates. It protects nothing.
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2G07nfhy6nEcDno1
NV3Hg8IzQiRxAMGxvM6n9DxM4HWhRANCAAT5UWnGfp30vLwjS0l011LwHhpxHVV5
PdlWkS3yRmGGSlFz8wOZ/62JB8pu41b4sMGpAP00B/eeMQTD8H0q7tT+
-----END PRIVATE KEY-----`;

/** Self-signed certificates, for 127.0.0.1 unless noted. */
export const certificates = {
  /** The right certificate. */
  own: {
    key,
    cert: `-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUWMdtkjtoWcXeOsszbttpx5U49tIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT5UWnGfp30vLwjS0l011LwHhpxHVV5PdlWkS3yRmGGSlFz8wOZ/62J
B8pu41b4sMGpAP00B/eeMQTD8H0q7tT+o0swSTAaBgNVHREEEzARgglsb2NhbGhv
c3SHBH8AAAEwDAYDVR0TBAUwAwEB/zAdBgNVHQ4EFgQUShmS91pvgOwsodp45jrm
LGrxWVUwCgYIKoZIzj0EAwIDSAAwRQIgQ87l88UhVz/2bcTz9wx7QI57T+VkVuh6
UFy23hoJd6UCIQD+RmhgX0z8Q2GPBIZM3wPNdKFgR6RZCGrFtF9Ji2vnKw==
-----END CERTIFICATE-----`,
  },
  /** Expired in 2021. */
  expired: {
    key,
    cert: `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUHDLUTJorggfQL/fSlHPaNIElh98wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAw
MDAwMFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE+VFpxn6d9Ly8I0tJdNdS8B4acR1VeT3ZVpEt8kZhhkpRc/MDmf+tiQfK
buNW+LDBqQD9NAf3njEEw/B9Ku7U/qNLMEkwGgYDVR0RBBMwEYIJbG9jYWxob3N0
hwR/AAABMAwGA1UdEwQFMAMBAf8wHQYDVR0OBBYEFEoZkvdab4DsLKHaeOY65ixq
8VlVMAoGCCqGSM49BAMCA0kAMEYCIQCWMvs7rFV0iB3JSdNvsx79hCNHTV7FwDO8
UviNt4Q0AwIhAKgJU2Os7nLZt7W4tZ5RRhPL/C1ldy+HENZmmelfOoIA
-----END CERTIFICATE-----`,
  },
  /** Valid, but not trusted. */
  stranger: {
    key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTF/NmW+JZLt9VmcC
IaqbeAyngzGmozwLIzzLEW2Bk9+hRANCAAQBWzh/DjhLE5RHx0w7dFgfUzYC4GOC
lJlEEwh7fqmLTmDQ4/PZIR7udB6iplCi/jyoMV3EarYdECpWGWF8aGIG
-----END PRIVATE KEY-----`,
    cert: `-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUU6n1MsVtUBxhIebqpbTsx0RnwGIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQBWzh/DjhLE5RHx0w7dFgfUzYC4GOClJlEEwh7fqmLTmDQ4/PZIR7u
dB6iplCi/jyoMV3EarYdECpWGWF8aGIGo0swSTAaBgNVHREEEzARgglsb2NhbGhv
c3SHBH8AAAEwDAYDVR0TBAUwAwEB/zAdBgNVHQ4EFgQUgnDAckNeoPSxssuJF71z
0aXtMFcwCgYIKoZIzj0EAwIDRwAwRAIgYPXG7oyEEX1c9I746aSCGITnxk9tEgXh
0/IF5kNGwucCIAwSuUZi+Q5iXxsiHb7Uab6AkdLpHgIHFU2ELk10Mtkd
-----END CERTIFICATE-----`,
  },
} as const satisfies Readonly<Record<string, Certificate>>;

/** The certificates that a client trusts: all but `stranger`. */
export const authorities = [certificates.own, certificates.expired].map(({ cert }) => cert).join('\n');
