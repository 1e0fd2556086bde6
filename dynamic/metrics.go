package dynamic

import (
	"math/big"
	"strconv"
	"sync/atomic"
	"time"

	"store.example/agentstore/dynamic/schedule"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is what the process counts. Labels are bounded: names of rows, status codes, networks and
// outcomes that the configuration and the code name, never anything a client sends.
type Metrics struct {
	Registry *prometheus.Registry

	requests  *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	inFlight  prometheus.Gauge
	panics    prometheus.Counter
	shut      *prometheus.CounterVec
	purchases *prometheus.CounterVec
	settled   *prometheus.CounterVec
	snapshots *prometheus.CounterVec
	late      *prometheus.HistogramVec
	gas       *prometheus.GaugeVec
	gasLow    *prometheus.GaugeVec
	launches  *prometheus.CounterVec
	purse     *prometheus.GaugeVec
	gauges    gauges
}

// NewMetrics makes a registry of its own, so that nothing else can write into it.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "store_requests_total", Help: "Requests answered, by route and status. Code 402 counts the " +
				"challenges.",
		}, []string{"route", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "store_request_seconds", Help: "Time from the end of the header to the end of the answer.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 20, 60},
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "store_requests_in_flight",
			Help: "Requests being answered by a row."}),
		shut: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "store_connections_closed_total",
			Help: "Connections closed because there were too many, by bound."}, []string{"bound"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "store_panics_total",
			Help: "Handlers that panicked."}),
		purchases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "store_purchases_total", Help: "Purchases that reached an outcome, by network.",
		}, []string{"network", "outcome"}),
		settled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "store_facilitator_settlements_total",
			Help: "Settlements for other sellers that came to an end, by network.",
		}, []string{"network", "outcome"}),
		snapshots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "store_site_snapshots_total", Help: "Published trees opened, and refused.",
		}, []string{"outcome"}),
	}
	m.late = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "store_task_late_seconds", Help: "How long after its time due work was begun, by job.",
		Buckets: []float64{1, 2, 5, 10, 30, 60, 300, 1800, 7200},
	}, []string{"job"})
	m.gas = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "store_relayer_gas",
		Help: "What the relayer has for gas, in the network's whole coins."}, []string{"network"})
	m.gasLow = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "store_relayer_gas_low",
		Help: "1 while the relayer is below its alarm."}, []string{"network"})
	m.launches = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "store_launch_checks_total",
		Help: "Purchases at strangers' doors that came to an end, by verdict, or not_walked."}, []string{"outcome"})
	m.purse = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "store_launch_wallet_usdc",
		Help: "What the account has that buys for launch checks."}, []string{"network"})
	m.gauges = newGauges(m.Registry)
	m.Registry.MustRegister(m.gas, m.gasLow, m.requests, m.latency, m.inFlight, m.panics, m.shut,
		m.purchases, m.settled, m.snapshots, m.late, m.launches, m.purse,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Purchase counts a purchase that reached an outcome (delivered, failed, not_settled, …) on a
// network.
func (m *Metrics) Purchase(network, outcome string) {
	m.purchases.WithLabelValues(network, outcome).Inc()
}

// Settlement counts a settlement for another seller that came to an end: settled, or the reason why
// not.
func (m *Metrics) Settlement(network, outcome string) {
	m.settled.WithLabelValues(network, outcome).Inc()
}

// Launch counts a purchase at a stranger's door that came to an end.
func (m *Metrics) Launch(outcome string) { m.launches.WithLabelValues(outcome).Inc() }

// LaunchWallet notes what the account has that buys at strangers' doors, in atomic USDC.
func (m *Metrics) LaunchWallet(network string, atomic *big.Int) {
	v, _ := new(big.Rat).SetFrac(atomic, big.NewInt(1_000_000)).Float64()
	m.purse.WithLabelValues(network).Set(v)
}

// Late notes how long after its time a piece of due work was begun.
func (m *Metrics) Late(t schedule.Task, late time.Duration) {
	m.late.WithLabelValues(t.Job).Observe(late.Seconds())
}

// Gas notes what a network's relayer has, in wei, and whether that is below its alarm. A nil amount
// is a network whose gas somebody else pays.
func (m *Metrics) Gas(network string, wei *big.Int, low bool) {
	if wei == nil {
		return
	}
	coins, _ := new(big.Rat).SetFrac(wei, big.NewInt(1e18)).Float64() // a gauge need not be exact
	m.gas.WithLabelValues(network).Set(coins)
	alarm := 0.0
	if low {
		alarm = 1
	}
	m.gasLow.WithLabelValues(network).Set(alarm)
}

// measured are the counters of one route, found once and then incremented without a look-up.
type measured struct {
	name     string
	metrics  *Metrics
	latency  prometheus.Observer
	codes    [600]atomic.Pointer[prometheus.Counter]
	document bool // answers come from the published tree
}

// uncounted is of the rows whose requests no metric counts.
var uncounted = &measured{}

func (m *Metrics) measure(name string) *measured {
	return &measured{name: name, metrics: m, latency: m.latency.WithLabelValues(name)}
}

// observe counts an answer and its time. A status of 0 is a connection that was cut off.
func (d *measured) observe(status int, took time.Duration) {
	if d.metrics == nil {
		return
	}
	d.count(status)
	d.latency.Observe(took.Seconds())
}

// count counts an answer.
func (d *measured) count(status int) {
	if d.metrics == nil {
		return
	}
	if status < 0 || status >= len(d.codes) {
		status = 0
	}
	counter := d.codes[status].Load()
	if counter == nil {
		c := d.metrics.requests.WithLabelValues(d.name, strconv.Itoa(status))
		counter = &c
		d.codes[status].Store(counter)
	}
	(*counter).Inc()
}
