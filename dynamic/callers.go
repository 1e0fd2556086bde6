// Callers says which agent sent a request, where the request is signed by Web Bot Auth.
// Nobody has to sign. Who does is told apart by a key and no longer by an address that is shared.
//
// What can go wrong, and what it costs: a key directory is read for a stranger, so it is read
// through the guarded client, rarely, with few at once, and nobody waits long for it; where it
// cannot be read the request is taken as one that is not signed. A signature that is forged, stale
// or used before is refused, because whoever sent it meant to be somebody.
//
// A key costs nothing to make. So a key is told apart from the address that it comes from only
// while that address has brought few others lately: changing keys brings a caller a handful of
// limits and no more. Everything kept here is bounded and of one process.

package dynamic

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"store.example/agentstore/corpus/botauth"
	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/dynamic/problem"
	"store.example/agentstore/dynamic/route"
)

// Bounds.
const (
	maxDirectories = 1000            // that are remembered
	maxReads       = 60              // of directories in a minute
	maxOwnReads    = 6               // of those for one client
	maxAtOnce      = 8               // of those under way
	patience       = 2 * time.Second // that a request waits for one
	freshFor       = time.Hour       // for which a directory is not read again
	failedFor      = time.Minute     // for which one that could not be read, or lacks a key, is not
	staleFor       = 24 * time.Hour  // for which keys are used though their directory cannot be read
	maxNonces      = 1024            // of a key that are remembered: the last ones
	maxKeys        = 250             // of which nonces are remembered
	maxClients     = 10_000          // of which the keys are counted
	keysOfClient   = 4               // that have limits of their own, in an hour
	clientWindow   = time.Hour
)

// CallersConfig is what callers are known by. All of it is required.
type CallersConfig struct {
	BaseURL string // under which requests come, whatever their Host says
	// Read reads a stranger's document through a guarded client, within its time and length.
	Read func(ctx context.Context, url string) (exchange.Exchange, error)
	// Refused reports whether an error of Read says that the address is none that may be read.
	Refused func(error) bool
}

// Callers knows callers. Its methods are safe for concurrent use.
type Callers struct {
	CallersConfig
	scheme, authority string
	slots             chan struct{}

	mu          sync.Mutex // guards what follows
	directories map[string]*directory
	nonces      map[string]*nonces // by key
	clients     map[string]*client
	swept       time.Time // when clients was looked through
	minute      time.Time // in which reads are counted
	reads       int
	ownReads    map[string]int
}

// directory is what is known of one.
type directory struct {
	keys    map[string]ed25519.PublicKey
	read    time.Time // when keys were read
	tried   time.Time // when it was last tried
	used    time.Time
	refused bool          // its address is none that may be read
	under   chan struct{} // closed when the reading under way ends; nil: there is none
}

// nonces are the last ones of a key.
type nonces struct {
	seen map[digest]bool
	ring []digest
	next int
	used time.Time
}

// digest is the beginning of the SHA-256 of a nonce, so that what is kept of one is short.
type digest [16]byte

// client is the keys that one address brought lately.
type client struct {
	since time.Time
	keys  []string
}

// NewCallers returns callers.
func NewCallers(cfg CallersConfig) (*Callers, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || cfg.Read == nil || cfg.Refused == nil {
		return nil, errors.New("callers: a base URL and a reader are required")
	}
	return &Callers{CallersConfig: cfg, scheme: u.Scheme, authority: u.Host, slots: make(chan struct{}, maxAtOnce),
		directories: map[string]*directory{}, nonces: map[string]*nonces{}, clients: map[string]*client{},
		ownReads: map[string]int{}}, nil
}

// Verify returns the thumbprint of the key that signed a request and by which its limits are kept;
// "" for a request without a signature, for one whose key is not to be had now, and for one too
// many of its client. agent is who signed, also where the limits are kept otherwise; nil for
// nobody. from tells clients apart. The error is a *problem.Error.
func (c *Callers) Verify(r *http.Request, from string) (limits string, agent *route.Agent, err error) {
	now := time.Now()
	claim, err := botauth.ReadCaller(botauth.Message{Method: r.Method, Scheme: c.scheme, Authority: c.authority,
		Path: r.URL.EscapedPath(), RawQuery: r.URL.RawQuery, Header: r.Header}, now)
	if err != nil {
		return "", nil, callersRefusal(err)
	}
	if claim == nil {
		return "", nil, nil
	}
	key, err := c.key(r.Context(), claim, from, now)
	if err != nil {
		return "", nil, callersRefusal(err)
	}
	if key == nil {
		return "", nil, nil
	}
	if err := claim.Verify(key); err != nil {
		return "", nil, callersRefusal(err)
	}
	if c.spent(claim, now) {
		return "", nil, callersRefusal(&botauth.Invalid{Reason: "replayed",
			Says: "the nonce of this key was used before"})
	}
	agent = &route.Agent{Name: claim.Agent(), Covers: claim.Covers}
	if !c.own(claim.KeyID, from, now) {
		return "", agent, nil
	}
	return claim.KeyID, agent, nil
}

// Ask is the Accept-Signature field of an answer that refuses an unsigned request from an address
// for what was used from there; "" where one more key of that address would have no limits of its
// own. Nothing is remembered of the nonce: it is spent like any other, by the key that signs it.
func (c *Callers) Ask(from string) string {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.clients[from]
	if at == nil && !c.room(now) || at != nil && len(at.keys) >= keysOfClient && now.Sub(at.since) < clientWindow {
		return ""
	}
	return botauth.Accept(rand.Text())
}

// refusal says why a signature is refused.
func callersRefusal(err error) error {
	bad, ok := errors.AsType[*botauth.Invalid](err)
	if !ok {
		return err
	}
	return &problem.Error{Code: "signature_invalid", Extra: map[string]any{"reason": bad.Reason},
		Detail: "Nothing was done: the request is signed as an agent's, and the signature is refused: " + bad.Says +
			".",
		Next: "Sign anew, or send the request without Signature, Signature-Input and Signature-Agent: nobody has to " +
			"sign."}
}

// key finds the key of a claim; nil where it is not to be had now.
func (c *Callers) key(ctx context.Context, claim *botauth.Caller, from string, now time.Time) (ed25519.PublicKey,
	error) {
	if u, err := url.Parse(claim.Directory); err != nil || u.Host == c.authority {
		return nil, &botauth.Invalid{Reason: "own_host", Says: "the store's own directory lists no agent"}
	}
	c.mu.Lock()
	d := c.directories[claim.Directory]
	if d == nil {
		d = &directory{}
	}
	d.used = now
	key := d.keys[claim.KeyID]
	if key != nil && now.Sub(d.read) < freshFor {
		c.mu.Unlock()
		return key, nil
	}
	under := d.under
	if under == nil && now.Sub(d.tried) >= failedFor && c.mayRead(from, now) {
		under = make(chan struct{})
		d.under, d.tried = under, now
		c.keep(claim.Directory, d)
		go c.read(claim.Directory, d)
	}
	c.mu.Unlock()
	if under != nil {
		select {
		case <-under:
		case <-time.After(patience):
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch key = d.keys[claim.KeyID]; {
	case d.refused:
		return nil, &botauth.Invalid{Reason: "agent_refused", Says: "Signature-Agent is no address that is read"}
	case key != nil && now.Sub(d.read) < staleFor:
		return key, nil
	case d.under == nil && d.keys != nil && d.read.Equal(d.tried):
		return nil, &botauth.Invalid{Reason: "unknown_key", Says: "the directory does not list the key " + claim.KeyID}
	}
	return nil, nil
}

// mayRead counts one reading of a directory for a client, and reports whether it may be. It is
// called with the lock.
func (c *Callers) mayRead(from string, now time.Time) bool {
	if minute := now.Truncate(time.Minute); !minute.Equal(c.minute) {
		c.minute, c.reads = minute, 0
		clear(c.ownReads)
	}
	if c.reads >= maxReads || c.ownReads[from] >= maxOwnReads {
		return false
	}
	select {
	case c.slots <- struct{}{}:
	default:
		return false
	}
	c.reads++
	c.ownReads[from]++
	return true
}

// keep remembers a directory in the place of the one that was used least lately. It is called with
// the lock.
func (c *Callers) keep(at string, d *directory) {
	if c.directories[at] == nil && len(c.directories) >= maxDirectories {
		var oldest string
		for name, o := range c.directories {
			if o.under == nil && (oldest == "" || o.used.Before(c.directories[oldest].used)) {
				oldest = name
			}
		}
		delete(c.directories, oldest)
	}
	c.directories[at] = d
}

// read reads a directory. One that cannot be read keeps the keys that it had; one that can and does
// not list a key any more loses it.
func (c *Callers) read(at string, d *directory) {
	x, err := c.Read(context.Background(), at)
	var keys map[string]ed25519.PublicKey
	if err == nil && x.Error.Stage == "" && x.Response.Status == http.StatusOK && !x.Response.Truncated &&
		callersNamed(x) {
		keys, err = botauth.CallerKeys(x.Response.Body, time.Now())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d.refused = err != nil && c.Refused(err) || x.Error.Stage == exchange.StageRefused
	if keys != nil {
		d.keys, d.read = keys, d.tried
	}
	close(d.under)
	d.under = nil
	<-c.slots
}

// named reports whether an answer says that it is a set of keys, so that no page that happens to
// hold some is one.
func callersNamed(x exchange.Exchange) bool {
	t, _, err := mime.ParseMediaType(x.Response.Header.Get("Content-Type"))
	return err == nil && slices.Contains([]string{"application/http-message-signatures-directory+json",
		"application/jwk-set+json", "application/json"}, t)
}

// spent notes the nonce of a claim and reports whether it was noted before. A signature without one
// may be sent again until it expires: many agents sign once for a minute of requests.
func (c *Callers) spent(claim *botauth.Caller, now time.Time) bool {
	if claim.Nonce == "" {
		return false
	}
	sum := sha256.Sum256([]byte(claim.Nonce))
	nonce := digest(sum[:len(digest{})])
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nonces[claim.KeyID]
	if n == nil {
		if len(c.nonces) >= maxKeys {
			var oldest string
			for key, o := range c.nonces {
				if oldest == "" || o.used.Before(c.nonces[oldest].used) {
					oldest = key
				}
			}
			delete(c.nonces, oldest)
		}
		n = &nonces{seen: make(map[digest]bool)}
		c.nonces[claim.KeyID] = n
	}
	n.used = now
	if n.seen[nonce] {
		return true
	}
	n.seen[nonce] = true
	if len(n.ring) < maxNonces {
		n.ring = append(n.ring, nonce)
		return false
	}
	delete(n.seen, n.ring[n.next])
	n.ring[n.next] = nonce
	n.next = (n.next + 1) % maxNonces
	return false
}

// room makes room for a client, looking at most once a minute, and reports whether there is some.
// It is called with the lock.
func (c *Callers) room(now time.Time) bool {
	if len(c.clients) >= maxClients && now.Sub(c.swept) >= time.Minute {
		c.swept = now
		maps.DeleteFunc(c.clients, func(_ string, o *client) bool { return now.Sub(o.since) >= clientWindow })
	}
	return len(c.clients) < maxClients
}

// own reports whether a key has limits of its own where it comes from.
func (c *Callers) own(key, from string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.clients[from]
	if at == nil || now.Sub(at.since) >= clientWindow {
		if at == nil && !c.room(now) {
			return false
		}
		at = &client{since: now}
		c.clients[from] = at
	}
	if slices.Contains(at.keys, key) {
		return true
	}
	if len(at.keys) >= keysOfClient {
		return false
	}
	at.keys = append(at.keys, key)
	return true
}
