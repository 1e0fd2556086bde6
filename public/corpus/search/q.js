(window.storeSearch = window.storeSearch || {})["corpus/search/q.json"] = {
  "format": "store-search-shard/v1",
  "shard": "q",
  "prefix": "q",
  "hosts": [
    {
      "host": "bridge.quay.street",
      "at": 7,
      "path": "/corpus/host/bridge.quay.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "crane.quay.street",
      "at": 6,
      "path": "/corpus/host/crane.quay.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "eddy.quay.street",
      "at": 5,
      "path": "/corpus/host/eddy.quay.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "fog.quay.street",
      "at": 4,
      "path": "/corpus/host/fog.quay.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "gull.quay.street",
      "at": 5,
      "path": "/corpus/host/gull.quay.street",
      "line": "indeterminate — 3 of 3, W44–W46"
    },
    {
      "host": "hull.quay.street",
      "at": 5,
      "path": "/corpus/host/hull.quay.street",
      "line": "indeterminate — 1 of 1, W46–W46"
    },
    {
      "host": "jetty.quay.street",
      "at": 6,
      "path": "/corpus/host/jetty.quay.street",
      "line": "observed — 3 of 4, W43–W46"
    },
    {
      "host": "keel.quay.street",
      "at": 5,
      "path": "/corpus/host/keel.quay.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "murk.quay.street",
      "at": 5,
      "path": "/corpus/host/murk.quay.street",
      "line": "broken — 0 of 1, W46–W46"
    },
    {
      "host": "quill.dock.street",
      "at": 0,
      "path": "/corpus/host/quill.dock.street",
      "line": "observed — 2 of 4, W43–W46"
    },
    {
      "host": "quote.gate.street",
      "at": 0,
      "path": "/corpus/host/quote.gate.street",
      "line": "indeterminate — 0 of 4, W43–W46"
    }
  ]
};
