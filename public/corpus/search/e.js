(window.storeSearch = window.storeSearch || {})["corpus/search/e.json"] = {
  "format": "store-search-shard/v1",
  "shard": "e",
  "prefix": "e",
  "hosts": [
    {
      "host": "easel.hill.street",
      "at": 0,
      "path": "/corpus/host/easel.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "echo.mill.street",
      "at": 0,
      "path": "/corpus/host/echo.mill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "eddy.quay.street",
      "at": 0,
      "path": "/corpus/host/eddy.quay.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
