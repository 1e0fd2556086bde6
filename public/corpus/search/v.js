(window.storeSearch = window.storeSearch || {})["corpus/search/v.json"] = {
  "format": "store-search-shard/v1",
  "shard": "v",
  "prefix": "v",
  "hosts": [
    {
      "host": "vane.dock.street",
      "at": 0,
      "path": "/corpus/host/vane.dock.street",
      "line": "observed — 3 of 4, W43–W46"
    },
    {
      "host": "vault.gate.street",
      "at": 0,
      "path": "/corpus/host/vault.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    }
  ]
};
