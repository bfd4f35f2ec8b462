package configs

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/server"
)

// validate records every value out of its range, and values that contradict each other.
func (c *Config) validate(found *problems) {
	if c.Data == "" {
		found.add("data", "must name a directory")
	}
	c.validateServer(found)
	c.validateDatabase(found)
	c.Mail.Check(func(key, reason string) { found.add("mail."+key, "%s", reason) })
	c.Redis.Check(func(key, reason string) { found.add("redis."+key, "%s", reason) })
	if strings.HasPrefix(c.Database.URL.Reveal(), "sqlite:") && !c.Redis.URL.IsZero() {
		found.add("redis.url", "is for nodes that share a PostgreSQL; SQLite has only one node")
	}
	if c.Metrics.Addr != "" {
		checkAddress(found, "metrics.addr", c.Metrics.Addr)
	}
	oneOf(found, "log.format", c.Log.Format, "text", "json")
	inRange(found, "events.retention", c.Events.Retention, day, 3650*day, "1d to 3650d")
	oneOf(found, "children.confine", c.Children.Confine, BestEffort, Strict)
	inRange(found, "replies.max_duration", c.Replies.MaxDuration, 10*time.Second, time.Hour, "10s to 1h")
	inRange(found, "replies.progress_timeout", c.Replies.ProgressTimeout, 5*time.Second, time.Hour, "5s to 1h")
	c.validateConnections(found)
	c.validatePayments(found)
	c.validateOrgs(found)
}

func (c *Config) validateServer(found *problems) {
	s := c.Server
	checkAddress(found, "server.addr", s.Addr)
	for _, t := range []struct {
		key string
		d   time.Duration
	}{
		{"request_timeout", s.RequestTimeout},
		{"read_header_timeout", s.ReadHeaderTimeout},
		{"read_timeout", s.ReadTimeout},
		{"write_timeout", s.WriteTimeout},
		{"idle_timeout", s.IdleTimeout},
		{"shutdown_timeout", s.ShutdownTimeout},
	} {
		inRange(found, "server."+t.key, t.d, time.Second, time.Hour, "1s to 1h")
	}
	inRange(found, "server.drain", s.Drain, 0, 5*time.Minute, "0s to 5m")
	if s.WriteTimeout <= s.RequestTimeout {
		found.add("server.write_timeout", "must be longer than server.request_timeout, or a request that times out "+
			"gets no answer")
	}
	validateLimits(found, s)
	for i, k := range s.LeakedKeys.PublicKeys {
		key := fmt.Sprintf("server.leaked_keys.public_keys[%d]", i)
		if k.ID == "" {
			found.add(key+".id", "must not be empty")
		}
		if _, err := k.Parse(); err != nil {
			found.add(key+".pem", "must be a public key for ECDSA in PEM")
		}
	}
	for i, contact := range s.SecurityTxt.Contacts {
		if !isURI(contact, "mailto", "https", "tel") {
			found.add(fmt.Sprintf("server.security_txt.contacts[%d]", i), "must be a URI that begins with mailto:, "+
				"https: or tel:")
		}
	}
	if policy := s.SecurityTxt.Policy; policy != "" && !isURI(policy, "https") {
		found.add("server.security_txt.policy", "must be an https URL")
	}
	if s.SecurityTxt.Policy != "" && len(s.SecurityTxt.Contacts) == 0 {
		found.add("server.security_txt.policy", "must be empty without contacts")
	}
}

// isURI reports whether s is a URI of one line with one of some schemes.
func isURI(s string, schemes ...string) bool {
	u, err := url.Parse(s) // which refuses control characters
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Opaque+u.Host != "" && !strings.Contains(s, " ")
}

func validateLimits(found *problems, s server.Config) {
	for _, l := range []struct {
		key      string
		n, least int
	}{
		{"rate_limit.per_minute", s.RateLimit.PerMinute, 1},
		{"rate_limit.burst", s.RateLimit.Burst, 1},
		{"rate_limit.user_per_minute", s.RateLimit.UserPerMinute, 0},
		{"rate_limit.user_burst", s.RateLimit.UserBurst, 0},
		{"rate_limit.workspace_per_minute", s.RateLimit.WorkspacePerMinute, 0},
		{"rate_limit.workspace_burst", s.RateLimit.WorkspaceBurst, 0},
		{"rate_limit.unauthenticated_per_minute", s.RateLimit.UnauthenticatedPerMinute, 1},
		{"rate_limit.sign_ins_per_minute", s.RateLimit.SignInsPerMinute, 1},
		{"rate_limit.sign_in_flows_per_minute", s.RateLimit.SignInFlowsPerMinute, 1},
		{"rate_limit.downloads_per_minute", s.RateLimit.DownloadsPerMinute, 1},
		{"concurrency.per_caller", s.Concurrency.PerCaller, 1},
		{"concurrency.per_workspace", s.Concurrency.PerWorkspace, 1},
		{"streams.per_workspace", s.Streams.PerWorkspace, 1},
		{"streams.per_address", s.Streams.PerAddress, 1},
	} {
		inRange(found, "server."+l.key, l.n, l.least, 1_000_000, fmt.Sprintf("%d to 1000000", l.least))
	}
	inRange(found, "server.concurrency.wait", s.Concurrency.Wait, 0, 10*time.Second, "0s to 10s")
}

// validateDatabase reports settings that only one of the engines has. It never quotes the URL, which can contain a
// password.
func (c *Config) validateDatabase(found *problems) {
	d := c.Database
	path, sqlite := strings.CutPrefix(d.URL.Reveal(), "sqlite:")
	switch u, err := url.Parse(d.URL.Reveal()); {
	case sqlite && path == "":
		found.add("database.url", "names no file after sqlite:")
	case sqlite:
	case err != nil: // the parser's own error quotes the URL, and with it the password
		found.add("database.url", "is no URL; percent-encode special characters of the password")
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		found.add("database.url", "must begin with sqlite: or postgres://")
	case d.Synchronous == "normal":
		found.add("database.synchronous", "is SQLite's alone; leave it out for PostgreSQL")
	}
	inRange(found, "database.max_conns", d.MaxConns, 1, 1000, "1 to 1000")
	inRange(found, "database.statement_timeout", d.StatementTimeout, 100*time.Millisecond, 10*time.Minute,
		"100ms to 10m")
	oneOf(found, "database.synchronous", d.Synchronous, "full", "normal")
}

func inRange[T int | time.Duration](found *problems, key string, value, lowest, highest T, legal string) {
	if value < lowest || value > highest {
		found.add(key, "must be %s", legal)
	}
}

func oneOf(found *problems, key, value string, legal ...string) {
	if !slices.Contains(legal, value) {
		found.add(key, "must be %s", strings.Join(legal, " or "))
	}
}

// checkAddress demands host:port with a numeric port, 0 for one that the system picks.
func checkAddress(found *problems, key, value string) {
	_, port, err := net.SplitHostPort(value)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		found.add(key, "must be host:port, such as 127.0.0.1:8080 or :8080")
	}
}
