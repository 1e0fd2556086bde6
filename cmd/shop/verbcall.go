package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"store.example/agentstore/cmd/args"
	"store.example/agentstore/content"
	"store.example/agentstore/dynamic/restore"
	"store.example/agentstore/dynamic/till"
)

// ErrCall says that a verb was called wrongly. By itself, what there is to say has been printed.
var ErrCall = errors.New("called wrongly")

// wrongly is what was wrong with a call, as ErrCall.
type wrongly struct{ error }

// Is makes it ErrCall.
func (wrongly) Is(target error) bool { return target == ErrCall }

// Unwrap is what was wrong.
func (w wrongly) Unwrap() error { return w.error }

// Call is a verb as it is called.
type Call struct {
	Verb
	Dry   bool // says what would be done and changes nothing
	JSON  bool // writes JSON, in place of what people read
	in    any  // a pointer to what the verb takes
	about bool // it says what the verb is about
	texts []textFile
}

// textFile is a text that may come from a file.
type textFile struct {
	flag, file string
	into, name *string
}

// Call is an empty call of the verb.
func (v Verb) Call() *Call { return &Call{Verb: v, in: reflect.New(v.in).Interface()} }

// About is what the verb is about, as the help has it, "" for nothing.
func (v Verb) About() string {
	for f := range v.Call().fields() {
		if about := f.Tag.Get("arg"); about != "" {
			return about
		}
	}
	return ""
}

// fields are those of what the verb takes.
func (c *Call) fields() iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		in := reflect.ValueOf(c.in).Elem()
		for _, f := range reflect.VisibleFields(c.Verb.in) {
			if !f.Anonymous && !yield(f, in.FieldByIndex(f.Index)) {
				return
			}
		}
	}
}

// Declare declares the verb's flags.
func (c *Call) Declare(f *flag.FlagSet) {
	for field, v := range c.fields() {
		c.declare(f, field.Tag, v.Addr().Interface())
	}
	f.BoolVar(&c.JSON, "json", false, "write JSON, a line for each of a list: all that is known of each")
	if c.Changes {
		f.BoolVar(&c.Dry, "dry-run", false, "say what would be done and change nothing")
	}
}

func (c *Call) declare(f *flag.FlagSet, tag reflect.StructTag, into any) {
	name, doc := tag.Get("flag"), tag.Get("doc")
	if name == "" {
		return
	}
	switch into := into.(type) {
	case *string:
		f.StringVar(into, name, "", doc)
		if file := tag.Get("file"); file != "" {
			c.texts = append(c.texts, textFile{name, file, into, f.String(file, "", "a file with what -"+name+
				" would say; - is standard input")})
		}
	case *bool:
		f.BoolVar(into, name, false, doc)
	case *int64:
		f.Int64Var(into, name, 0, doc)
	case flag.Value:
		f.Var(into, name, doc)
	}
}

// Read reads the words after the verb: what it is about and its flags, which f has beside others,
// and the files that they name.
func (c *Call) Read(f *flag.FlagSet, words []string) error {
	c.Declare(f)
	if err := args.Parse(f, words); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return ErrCall
	}
	if c.about = c.About() != "" && f.NArg() == 1; c.about {
		c.set(f.Arg(0))
	} else if f.NArg() > 0 {
		f.Usage()
		return ErrCall
	}
	return c.ready()
}

func (c *Call) set(about string) {
	for f, v := range c.fields() {
		if f.Tag.Get("arg") == "" {
			continue
		}
		if v.Kind() == reflect.String {
			v.SetString(about)
		} else if n, err := strconv.ParseInt(about, 10, 64); err == nil {
			v.SetInt(n)
		} else {
			v.SetInt(-1) // of no form
		}
	}
}

// maxText bounds a text that is read from a file: what takes it bounds it closer.
const maxText = 1 << 20

// ready judges what was given, as ErrCall, and reads the files that it names.
func (c *Call) ready() error {
	for _, t := range c.texts {
		switch {
		case *t.name == "":
		case *t.into != "":
			return wrongly{fmt.Errorf("give -%s or -%s, not both", t.flag, t.file)}
		default:
			raw, err := readGiven(*t.name, maxText)
			if err != nil {
				return err
			}
			*t.into = string(raw)
		}
	}
	for f := range c.fields() {
		if f.Tag.Get("arg") != "" && !c.about {
			return wrongly{errors.New("name " + f.Tag.Get("doc"))}
		}
	}
	if err := c.check(); err != nil {
		return wrongly{err}
	}
	for _, v := range c.fields() {
		if a, ok := v.Addr().Interface().(*attached); ok && a.file != "" {
			if err := a.read(); err != nil {
				return err
			}
		}
	}
	if sound, ok := c.in.(interface{ check() error }); ok {
		if err := sound.check(); err != nil {
			return wrongly{err}
		}
	}
	return nil
}

// check demands what must be given, in the form that it has.
func (c *Call) check() error {
	for f, v := range c.fields() {
		given := fmt.Sprint(v.Interface())
		if f.Tag.Get("arg") != "" && (given == "" || !regexp.MustCompile(f.Tag.Get("form")).MatchString(given)) {
			return errors.New("name " + f.Tag.Get("doc"))
		}
		if need := f.Tag.Get("need"); need != "" && v.IsZero() {
			return errors.New(need)
		}
	}
	return nil
}

// readGiven reads a file of the keeper's, or standard input.
func readGiven(file string, most int64) ([]byte, error) {
	in := os.Stdin
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, err
		}
		defer in.Close()
	}
	raw, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(raw)) > most {
		err = wrongly{fmt.Errorf("%s has more than %d bytes, which is the most that it may have", file, most)}
	}
	return raw, err
}

// attached is a file that goes with a call.
type attached struct {
	Name string `json:",omitempty"`
	Data []byte `json:",omitempty"`
	file string
}

// Set implements flag.Value.
func (a *attached) Set(file string) error {
	a.file, a.Name = file, filepath.Base(file)
	return nil
}

// String implements flag.Value.
func (a *attached) String() string { return "" }

func (a *attached) read() (err error) {
	a.Data, err = readGiven(a.file, till.MaxAnswerFile)
	return err
}

// dollars is an amount in millionths, of USDC or US dollars.
type dollars int64

// Set implements flag.Value.
func (d *dollars) Set(s string) error {
	n, err := content.ParseUSDC(s)
	*d = dollars(n)
	return err
}

// String implements flag.Value.
func (d *dollars) String() string { return "" }

// Do does what is called, in the place of the verb, and writes what came of it.
func (c *Call) Do(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) error {
	if c.place == unopened {
		return c.run(ctx, &Shop{Config: *cfg, Log: log}, w)
	}
	if c.first != nil {
		if err := c.first(ctx, cfg, c.in, log); err != nil {
			return err
		}
	}
	if p, ok := c.in.(interface{ waits() bool }); !ok || !p.waits() || c.Dry {
		return c.ask(ctx, cfg, log, w)
	}
	for {
		var out bytes.Buffer // what is said is the last word
		err := c.ask(ctx, cfg, log, &out)
		if !errors.Is(err, restore.ErrNotYet) {
			_, werr := w.Write(out.Bytes())
			return errors.Join(err, werr)
		}
		log.Info("not yet", "err", err)
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// askAgain is how long a call waits for what passes by itself.
const askAgain = 15 * time.Second

// ask does what is called once.
func (c *Call) ask(ctx context.Context, cfg *Config, log *slog.Logger, w io.Writer) (err error) {
	spec, err := LedgerSpec(cfg)
	if err != nil {
		return err
	}
	if c.place != alone {
		body, err := json.Marshal(c.in)
		if err != nil {
			return err
		}
		path := "/keeper/" + c.Name + "?" + url.Values{"dry": {strconv.FormatBool(c.Dry)},
			"json": {strconv.FormatBool(c.JSON)}}.Encode()
		if ok, err := askServer(ctx, spec, "POST "+path, bytes.NewReader(body), w); ok || err != nil {
			return err
		}
	}
	s, err := openBeside(ctx, cfg, spec, c.place == signing, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return c.run(ctx, s, w)
}

// partial are the answers in which stands what was done also where it then failed.
var partial = []reflect.Kind{reflect.Slice, reflect.Pointer, reflect.Func}

// run does what is called in a shop.
func (c *Call) run(ctx context.Context, s *Shop, w io.Writer) error {
	out, err := c.do(ctx, s, c.in, c.Dry)
	if v := reflect.ValueOf(out); err != nil && (!slices.Contains(partial, c.out.Kind()) || v.IsZero() ||
		v.Kind() == reflect.Slice && v.Len() == 0) {
		return err
	}
	err = errors.Join(writeAnswer(w, out, c.JSON), err)
	if err == nil && c.Dry && !c.JSON {
		err = writePart(w, "Nothing was changed: this was a dry run.")
	}
	return err
}

// openBeside opens a shop on a ledger that exists, for work beside serving.
func openBeside(ctx context.Context, c *Config, spec string, signs bool, log *slog.Logger) (*Shop, error) {
	if err := mustExist(spec); err != nil {
		return nil, err
	}
	quiet := *c
	quiet.Public, quiet.Record = "", ""
	if !signs {
		quiet.HighWater = ""
	}
	s, err := Open(ctx, &quiet, Options{Log: log})
	if err == nil {
		s.Config.Record, s.Config.HighWater = c.Record, c.HighWater // what verbs read and write themselves
	}
	return s, err
}

// maxControl bounds what commands send to the serving process: a file in base64, and the words
// beside it.
const maxControl = 2 << 20

// serveVerb answers a call on the control socket.
func (s *Shop) serveVerb(w http.ResponseWriter, r *http.Request) {
	v, ok := VerbNamed(r.PathValue("verb"))
	if !ok || v.place == alone || v.place == unopened {
		http.NotFound(w, r)
		return
	}
	answerControl(w, func(out io.Writer) error {
		c := v.Call()
		c.Dry, c.JSON = r.URL.Query().Get("dry") == "true", r.URL.Query().Get("json") == "true"
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxControl+1))
		if err == nil && len(raw) > maxControl {
			err = fmt.Errorf("more than %d bytes", maxControl)
		}
		if err == nil {
			err = json.Unmarshal(raw, c.in)
		}
		if err == nil {
			err = c.check()
		}
		if err != nil {
			return err
		}
		return c.run(r.Context(), s, out)
	})
}
