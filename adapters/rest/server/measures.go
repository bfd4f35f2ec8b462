package server

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atrium-hq/atrium/domain/account"
)

// measures are the metrics of the API for Prometheus: rate, errors and duration by route template, what was refused,
// and the open streams.
type measures struct {
	requests        *prometheus.HistogramVec
	refusals        *prometheus.CounterVec
	problems        *prometheus.CounterVec
	authentications *prometheus.CounterVec
	refusedKeys     *prometheus.CounterVec
	signIns         *prometheus.CounterVec
	directory       *prometheus.CounterVec
	acceptedKeys    prometheus.Counter // of authentications: the most frequent one
}

func newMeasures(reg prometheus.Registerer, openStreams func() int) *measures {
	m := &measures{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_refusals_total",
			Help: "Requests that a limit refused, by the limit.",
		}, []string{"reason"}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_problems_total",
			Help: "Requests that were answered with a problem, by its code.",
		}, []string{"code"}),
		authentications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_authentications_total",
			Help: "Credentials that were checked: api_key, token (of an issuer), session or ticket (of a stream), " +
				"and the outcome: accepted, refused, or failed if it could not be checked.",
		}, []string{"credential", "outcome"}),
		refusedKeys: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_refused_api_keys_total",
			Help: "Requests with an API key that exists, and is no longer accepted, by the reason.",
		}, []string{"reason"}),
		signIns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_refused_sign_ins_total",
			Help: "Sign-ins in a browser that were refused, by the way (session, passkey, invitation, provider) and " +
				"the code of the problem.",
		}, []string{"way", "reason"}),
		directory: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "atrium_directory_refusals_total",
			Help: "Requests of directories (SCIM) that were refused, by the scimType, the code or the status.",
		}, []string{"reason"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "http_server_request_duration_seconds",
			Help:    "How long requests took, by method, route template and status, without streams.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route", "status"}),
	}
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "atrium_presence_streams",
		Help: "How many streams of presences are open at this node.",
	}, func() float64 { return float64(openStreams()) })
	m.acceptedKeys = m.authentications.WithLabelValues(byAPIKey, "accepted")
	reg.MustRegister(m.requests, m.refusals, m.problems, m.authentications, m.refusedKeys, m.signIns, m.directory,
		open)
	return m
}

// byTicket is a ticket's kind; credentialKind returns the kind of other credentials.
const (
	byTicket = "ticket"
	byAPIKey = "api_key"
)

// credentialKind returns a request credential's kind. stored reports whether it was looked up.
func credentialKind(token string, isStored bool) string {
	switch {
	case strings.HasPrefix(token, account.KeyTokenPrefix):
		return byAPIKey
	case isStored:
		return "session"
	}
	return "token"
}

// SignInRefused counts a sign-in that was refused with a code.
func (m *measures) SignInRefused(way, code string) { m.signIns.WithLabelValues(way, code).Inc() }

// DirectoryRefused counts a directory's request that was refused for a reason.
func (m *measures) DirectoryRefused(reason string) { m.directory.WithLabelValues(reason).Inc() }

// Authenticated counts a credential that was checked.
func (m *measures) Authenticated(credential string, err error) {
	if err == nil && credential == byAPIKey {
		m.acceptedKeys.Inc()
		return
	}
	outcome := "accepted"
	switch {
	case err == nil:
	case hasNoAccount(err):
		outcome = "refused"
	default:
		outcome = "failed"
	}
	m.authentications.WithLabelValues(credential, outcome).Inc()
}
