(window.storeSearch = window.storeSearch || {})["corpus/search/i.json"] = {
  "format": "store-search-shard/v1",
  "shard": "i",
  "prefix": "i",
  "hosts": [
    {
      "host": "index.json.street",
      "at": 0,
      "path": "/corpus/host/index.json.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "ivory.hill.street",
      "at": 0,
      "path": "/corpus/host/ivory.hill.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    }
  ]
};
