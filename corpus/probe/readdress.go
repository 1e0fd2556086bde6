package probe

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"store.example/agentstore/corpus/exchange"
	"store.example/agentstore/corpus/networks"
)

var mentions = regexp.MustCompile(`\[pay-to ([0-9a-f]{16})\]`)

// mention begins what mentions finds: most terms have none, which is seen sooner without it.
const mention = "[pay-to "

// readdresser puts addresses of the same form where addresses were hidden.
type readdresser struct {
	view  *View
	known map[string]string // tokens by their digests
	size  int               // bytes of the terms, as far as they are done
}

// readdressed returns what a challenge holds with addresses in it, and how many bytes that is as
// JSON. What is not changed is shared.
func (v *View) readdressed(c told) (plain any, size int) {
	r := readdresser{view: v, known: v.tokensMentioned(c.Value), size: len(c.Value)}
	plain, _ = r.show(c.parsed)
	if bytes.Contains(c.Value, []byte(mention)) {
		plain = r.unmark(plain)
	}
	return plain, r.size
}

// show puts addresses into the place of the objects that stand for them. It reports whether there
// was one.
func (r *readdresser) show(value any) (any, bool) {
	switch value := value.(type) {
	case []any:
		var out []any
		for i, m := range value {
			if shown, changed := r.show(m); changed {
				if out == nil {
					out = slices.Clone(value)
				}
				out[i] = shown
			}
		}
		if out != nil {
			return out, true
		}
	case *exchange.Object:
		if form, digest, ok := hidden(value); ok {
			return r.address(form, digest), true
		}
		var out *exchange.Object
		for name, m := range value.All() {
			if shown, changed := r.show(m); changed {
				if out == nil {
					out = value.Clone()
				}
				out.Set(name, shown)
			}
		}
		if out != nil {
			return out, true
		}
	}
	return value, false
}

// hidden reads the object that stands for an address: a form, and mostly a digest.
func hidden(o *exchange.Object) (form, digest string, ok bool) {
	if o.Len() != 1 && o.Len() != 2 {
		return "", "", false
	}
	at := 0
	for name, value := range o.All() {
		s, _ := value.(string)
		switch at++; {
		case at == 1 && name == "form" && s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") == "":
			form = s
		case at == 2 && name == "digest" && len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "":
			digest = s
		default:
			return "", "", false
		}
	}
	return form, digest, true
}

func (r *readdresser) address(form, digest string) any {
	r.size -= len(`{"form":""}`) + len(form)
	if digest != "" {
		r.size -= len(`,"digest":""`) + len(digest)
	}
	if form == exchange.FormNotAString {
		r.size += len("7")
		return 7.0
	}
	address := cmp.Or(r.known[digest], standInAddress(form, digest))
	if digest != "" {
		r.view.marks[digest[:markLength]] = address
	}
	r.size += len(`""`) + len(address)
	return address
}

// unmark puts addresses into the place of their marks.
func (r *readdresser) unmark(value any) any {
	switch value := value.(type) {
	case string:
		return r.unmarkText(value)
	case []any:
		out := make([]any, len(value))
		for i, m := range value {
			out[i] = r.unmark(m)
		}
		return out
	case *exchange.Object:
		out := &exchange.Object{}
		for name, m := range value.All() {
			out.Set(r.unmarkText(name), r.unmark(m))
		}
		return out
	}
	return value
}

func (r *readdresser) unmarkText(s string) string {
	if !strings.Contains(s, mention) {
		return s
	}
	out := mentions.ReplaceAllStringFunc(s, r.view.unmarked)
	r.size += len(out) - len(s)
	return out
}

// unmarked is the address for which a mark stands, as far as it is known, and every other text as
// it is.
func (v *View) unmarked(s string) string {
	if !strings.Contains(s, mention) {
		return s
	}
	if parts := mentions.FindStringSubmatch(s); parts != nil && v.marks[parts[1]] != "" {
		return v.marks[parts[1]]
	}
	return s
}

// tokensMentioned are the known tokens by the digests under which they would be hidden, because an
// entry wants to be paid at one and an asset is then hidden too. A digest depends on the network
// beside it.
func (v *View) tokensMentioned(terms []byte) map[string]string {
	if !bytes.Contains(terms, []byte(mention)) || !mentions.Match(terms) {
		return nil
	}
	m, beside := map[string]string{}, map[string]bool{networks.OtherNetwork: true}
	for _, r := range slices.Concat(v.accepts, v.mirrored) {
		beside[networks.CAIP2Name(r.Network)] = true
	}
	for _, t := range networks.Known() {
		for network := range beside {
			m[exchange.PayToDigest(network, t.Address)] = t.Address
		}
	}
	return m
}

// standInAddress is an address of a form that is the same wherever the digest is.
func standInAddress(form, digest string) string {
	switch form {
	case exchange.FormEVM, exchange.FormEVMBadChecksum:
		if len(digest) >= 40 {
			return "0x" + digest[:40]
		}
	case exchange.FormEVMZero:
		return "0x" + strings.Repeat("0", 40)
	case exchange.FormSolana:
		if raw, err := hex.DecodeString(digest); err == nil && len(raw) == 32 {
			return networks.EncodeBase58(raw)
		}
	case exchange.FormEmpty:
		return ""
	case exchange.FormName:
		return "(a name)"
	}
	return "(no address)"
}
