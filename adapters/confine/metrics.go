package confine

import "github.com/prometheus/client_golang/prometheus"

// Metrics returns the Prometheus metrics of r's children; pool is a label that names r.
func (r *Runner) Metrics(pool string) []prometheus.Collector {
	labels := prometheus.Labels{"pool": pool}
	read := func(value func(*tenantLimiter) uint64) func() float64 {
		return func() float64 {
			r.limiter.mu.Lock()
			defer r.limiter.mu.Unlock()
			return float64(value(r.limiter))
		}
	}
	gauge := func(name, help string, value func(*tenantLimiter) uint64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, read(value))
	}
	counter := func(name, help string, value func(*tenantLimiter) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			read(value))
	}
	return []prometheus.Collector{
		gauge("atrium_children_running", "How many calls run in child processes.",
			func(s *tenantLimiter) uint64 { return uint64(len(s.running)) }),
		gauge("atrium_children_waiting", "How many calls wait for a child process.",
			func(s *tenantLimiter) uint64 { return uint64(len(s.waiting)) }),
		counter("atrium_children_refused_total", "Calls that were refused because too many of their tenant's waited, "+
			"and jobs that were postponed.",
			func(s *tenantLimiter) uint64 { return s.refused }),
		counter("atrium_children_evicted_total",
			"Calls that were ended before their time because other tenants waited.",
			func(s *tenantLimiter) uint64 { return s.evicted }),
	}
}
