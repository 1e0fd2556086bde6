package dynamic

import (
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauges are what is measured now and then, and what money came to.
type gauges struct {
	usdc       *prometheus.CounterVec
	waiting    *prometheus.GaugeVec
	late       *prometheus.GaugeVec
	nodeUp     *prometheus.GaugeVec
	nodeTook   *prometheus.GaugeVec
	nodeBehind *prometheus.GaugeVec
	asked      *prometheus.HistogramVec
	ledger     prometheus.Histogram
	queue      *prometheus.GaugeVec
	overdue    *prometheus.GaugeVec
	census     *prometheus.GaugeVec
	sealed     prometheus.Gauge
	build      *prometheus.GaugeVec
}

func newGauges(r *prometheus.Registry) gauges {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(g)
		return g
	}
	g := gauges{
		usdc: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "store_usdc_atomic_total",
			Help: "Atomic units of USDC of the purchases that reached an outcome, by network."},
			[]string{"network", "outcome"}),
		waiting: gauge("store_waiting",
			"What waits for the keeper, by kind: unknown are payments whose outcome is not known.", "kind"),
		late:       gauge("store_waiting_late", "Of what waits for the keeper, what is past its time.", "kind"),
		nodeUp:     gauge("store_node_up", "1 while a network's node answers.", "network"),
		nodeTook:   gauge("store_node_seconds", "How long a network's node took to name its newest block.", "network"),
		nodeBehind: gauge("store_node_head_age_seconds", "How old the newest block of a network's node is.", "network"),
		asked: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "store_node_call_seconds",
			Help: "How long each question to a network's nodes took, by what came of it: answered, refused (an " +
				"answer of no use) or silent.",
			Buckets: []float64{.005, .02, .05, .1, .2, .5, 1, 2, 5, 10}}, []string{"network", "outcome"}),
		ledger: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "store_ledger_seconds",
			Help:    "How long the ledger took to read its queues, once a quarter of a minute.",
			Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 15}}),
		queue:   gauge("store_queue_length", "Pieces of work that lie in a queue, due or not.", "job"),
		overdue: gauge("store_queue_late_seconds", "How long the oldest piece of work of a queue is overdue.", "job"),
		census: gauge("store_census_hosts", "Hosts of this week's roster, by state: due are all, done those that "+
			"are walked or are not to be.", "state"),
		sealed: prometheus.NewGauge(prometheus.GaugeOpts{Name: "store_census_sealed",
			Help: "1 once this week's round is sealed."}),
		build: gauge("store_build_info", "1, with what the program was built from.", "version", "revision", "go"),
	}
	r.MustRegister(g.usdc, g.ledger, g.asked, g.sealed)
	return g
}

// Money counts what a purchase brought that reached an outcome, in atomic units.
func (m *Metrics) Money(network, outcome string, atomic int64) {
	m.gauges.usdc.WithLabelValues(network, outcome).Add(float64(atomic))
}

// Waiting notes what waits for the keeper of a kind, and what of it is past its time.
func (m *Metrics) Waiting(kind string, count, late int) {
	m.gauges.waiting.WithLabelValues(kind).Set(float64(count))
	m.gauges.late.WithLabelValues(kind).Set(float64(late))
}

// Node notes how a network's node answers: how long it took, and how old its newest block is.
func (m *Metrics) Node(network string, up bool, took, age time.Duration) {
	if !up {
		m.gauges.nodeUp.WithLabelValues(network).Set(0)
		return
	}
	m.gauges.nodeUp.WithLabelValues(network).Set(1)
	m.gauges.nodeTook.WithLabelValues(network).Set(took.Seconds())
	m.gauges.nodeBehind.WithLabelValues(network).Set(age.Seconds())
}

// Asked notes one question to one of a network's nodes, by a name of package rail's outcomes.
func (m *Metrics) Asked(network, outcome string, took time.Duration) {
	m.gauges.asked.WithLabelValues(network, outcome).Observe(took.Seconds())
}

// Ledger notes how long reading the queues took.
func (m *Metrics) Ledger(took time.Duration) {
	m.gauges.ledger.Observe(took.Seconds())
}

// Backlog is how much lies in a queue, and how long the oldest of it is overdue.
type Backlog struct {
	Length int
	Late   time.Duration
}

// Queues notes what lies in every queue, by job. What is not named is empty.
func (m *Metrics) Queues(all map[string]Backlog) {
	m.gauges.queue.Reset()
	m.gauges.overdue.Reset()
	for job, q := range all {
		m.gauges.queue.WithLabelValues(job).Set(float64(q.Length))
		m.gauges.overdue.WithLabelValues(job).Set(q.Late.Seconds())
	}
}

// Census notes how far the week's round is.
func (m *Metrics) Census(due, done int64, sealed bool) {
	m.gauges.census.WithLabelValues("due").Set(float64(due))
	m.gauges.census.WithLabelValues("done").Set(float64(done))
	m.gauges.sealed.Set(0)
	if sealed {
		m.gauges.sealed.Set(1)
	}
}

// Build notes what the program was built from.
func (m *Metrics) Build(version, revision, goVersion string) {
	m.gauges.build.WithLabelValues(version, revision, goVersion).Set(1)
}

var descName = regexp.MustCompile(`fqName: "([^"]+)"`)

// Names are those of every metric.
func (m *Metrics) Names() (names []string) {
	all := make(chan *prometheus.Desc)
	go func() { m.Registry.Describe(all); close(all) }()
	for d := range all {
		if found := descName.FindStringSubmatch(d.String()); found != nil {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
