(window.storeSearch = window.storeSearch || {})["corpus/search/m.json"] = {
  "format": "store-search-shard/v1",
  "shard": "m",
  "prefix": "m",
  "hosts": [
    {
      "host": "mail.gate.street",
      "at": 0,
      "path": "/corpus/host/mail.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "readme.md.street",
      "at": 7,
      "path": "/corpus/host/readme.md.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "almanac.mill.street",
      "at": 8,
      "path": "/corpus/host/almanac.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "atlas.mill.street",
      "at": 6,
      "path": "/corpus/host/atlas.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "bakery.mill.street",
      "at": 7,
      "path": "/corpus/host/bakery.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "bell.mill.street",
      "at": 5,
      "path": "/corpus/host/bell.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "chart.mill.street",
      "at": 6,
      "path": "/corpus/host/chart.mill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "compass.mill.street",
      "at": 8,
      "path": "/corpus/host/compass.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "echo.mill.street",
      "at": 5,
      "path": "/corpus/host/echo.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "ferry.mill.street",
      "at": 6,
      "path": "/corpus/host/ferry.mill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "mirror.dock.street",
      "at": 0,
      "path": "/corpus/host/mirror.dock.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "murk.quay.street",
      "at": 0,
      "path": "/corpus/host/murk.quay.street",
      "line": "broken — 0 of 1, W46–W46"
    }
  ]
};
