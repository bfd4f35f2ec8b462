package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/seal"
	"github.com/atrium-hq/atrium/adapters/sqlstore"
	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/domain/identity"
)

type doctorCommand struct {
	All  doctorAllCommand  `cmd:"" default:"withargs" help:"Check configuration, keyring, database and data directory."`
	OIDC doctorOIDCCommand `cmd:"" name:"oidc" help:"Check the issuers, and which account and roles a token would get."`

	Payments doctorPaymentsCommand `cmd:"" help:"Check plans, events, and the mirror of the payment gateway."`
}

// Help implements kong.HelpProvider.
func (doctorCommand) Help() string {
	return `Exits with 1 if a check fails.

Examples:
  atrium doctor --config /etc/atrium.yaml
  atrium doctor oidc --token-file token.jwt`
}

type doctorAllCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (doctorAllCommand) Help() string {
	return `Changes nothing and creates nothing: it reports what a start would do. doctor without a subcommand does the same.

Example:
  atrium doctor all --config /etc/atrium.yaml`
}

// finding is the result of one check.
type finding struct {
	Check   string `json:"check"`
	OK      bool   `json:"ok"`
	Warning bool   `json:"warning,omitempty"` // OK, but probably not intended
	Note    string `json:"note"`
}

// Run implements the command.
func (d *doctorAllCommand) Run(p *process) error { return p.report(diagnose(p), d.JSON) }

// report prints findings, and returns an error if a check failed.
func (p *process) report(findings []finding, asJSON bool) error {
	failed := 0
	for _, f := range findings {
		mark := "ok     "
		switch {
		case !f.OK:
			failed++
			mark = "FAILED "
		case f.Warning:
			mark = "WARNING"
		}
		if !asJSON {
			fmt.Fprintf(p.stdout, "%s %-14s %s\n", mark, f.Check, f.Note)
		}
	}
	if asJSON {
		if err := p.print(true, map[string]any{"checks": findings}, ""); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(findings))
	}
	return nil
}

// diagnose runs the checks in order, as far as the results allow, and changes nothing: it reports what a start would
// do.
func diagnose(p *process) []finding {
	c, err := p.config(nil)
	if err != nil {
		return []finding{bad("configuration", err)}
	}
	findings := []finding{good("configuration", "%d org(s)", len(c.Orgs)), checkEntry(c), checkData(c), checkChildren(c)}
	ring, err := seal.Open(c.Keyring)
	noKeys := errors.Is(err, seal.ErrNoKeyFile)
	if err != nil && !noKeys {
		findings = append(findings, bad("keyring", err))
	}
	db, closeDB, err := sqlstore.Inspect(p.ctx, c.Database, openPool)
	if errors.Is(err, fs.ErrNotExist) {
		db, err = nil, nil
	}
	if err != nil {
		return append(findings, bad("database", err))
	}
	pending := 0
	if db != nil {
		defer closeDB()
		if pending, err = db.Pending(p.ctx); err != nil {
			return append(findings, bad("database", err))
		}
	}
	switch {
	case db == nil:
		findings = append(findings, good("database", "none yet: serve makes it"))
	case pending > 0:
		findings = append(findings, good("database", "%s, %d migration(s) pending: serve and migrate apply them", db.Engine(), pending))
	default:
		findings = append(findings, good("database", "%s, schema up to date", db.Engine()))
	}
	if db == nil || pending > 0 {
		db = nil // an older schema cannot be queried
	}
	switch {
	case noKeys && db == nil:
		findings = append(findings, good("keyring", "no key file yet: serve makes %s", c.Keyring.KeyFile))
	case ring != nil || noKeys:
		findings = append(findings, checkKeyring(p.ctx, c, ring, db))
	}
	if db == nil {
		return findings
	}
	return append(findings, checkPeople(p, db), checkRules(p.ctx, c, db), checkJobs(p.ctx, db))
}

// checkKeyring checks that a keyring opens the secrets of the database. The keyring is nil if there is no key file.
func checkKeyring(ctx context.Context, c configs.Config, ring *seal.Keyring, db *sqlstore.DB) finding {
	var check []byte
	if db != nil {
		var err error
		if check, err = db.SealedBy(ctx); err != nil {
			return bad("keyring", err)
		}
	}
	switch {
	case ring == nil && check == nil:
		return good("keyring", "no key file yet: serve makes %s", c.Keyring.KeyFile)
	case ring == nil:
		return bad("keyring", errKeyFileMissing(c))
	case check == nil:
		return good("keyring", "%d key(s)", len(ring.Keys()))
	}
	if err := ring.Verify(check); err != nil {
		return bad("keyring", err)
	}
	return good("keyring", "%d key(s); opens what the database holds", len(ring.Keys()))
}

func checkPeople(p *process, db *sqlstore.DB) finding {
	empty, err := db.Empty(p.ctx)
	switch {
	case err != nil:
		return bad("people", err)
	case empty:
		return good("people", "none yet: %s --email EMAIL --role owner", p.self("user create"))
	}
	return good("people", "at least one exists")
}

// checkJobs reports the state of the queue. Failed jobs, and jobs that wait because no server runs, do not fail the
// check.
func checkJobs(ctx context.Context, db *sqlstore.DB) finding {
	now := time.Now()
	b, err := sqlstore.NewJobQueue(db).Backlog(ctx, now)
	if err != nil {
		return bad("jobs", err)
	}
	note := fmt.Sprintf("%d queued, %d running", b.Queued, b.Running)
	if !b.Due.IsZero() {
		note += fmt.Sprintf(", the first has been due for %s: serve or work runs them", now.Sub(b.Due).Round(time.Second))
	}
	if b.Failed > 0 {
		note += fmt.Sprintf("; %d failed permanently within a week, last %s of %s (%s) at %s",
			b.Failed, b.LastFailed.Kind, b.LastFailed.Subject, b.LastFailure, b.LastFailedAt.Format(time.RFC3339))
	}
	return finding{Check: "jobs", OK: true, Note: note}
}

// checkRules checks that the workspaces exist that claim rules name.
func checkRules(ctx context.Context, c configs.Config, db *sqlstore.DB) finding {
	ids, err := db.Orgs(ctx)
	if err != nil {
		return bad("claim rules", err)
	}
	missing, err := missingWorkspaces(ctx, c.Directory(func(slug string) identity.OrgID { return ids[slug] }), db.Stores().Workspaces)
	if err != nil {
		return bad("claim rules", err)
	}
	if len(missing) > 0 {
		return finding{Check: "claim rules", OK: true, Warning: true, Note: strings.Join(missing, "; ")}
	}
	return good("claim rules", "every workspace that they name exists")
}

func good(check, format string, args ...any) finding {
	return finding{Check: check, OK: true, Note: fmt.Sprintf(format, args...)}
}

// bad returns a failed check. It removes the name of the check from the beginning of the error.
func bad(check string, err error) finding {
	return finding{Check: check, Note: strings.TrimPrefix(err.Error(), check+": ")}
}

// checkData checks that only its owner can read the data directory.
func checkData(c configs.Config) finding {
	info, err := os.Stat(c.Data)
	switch {
	case os.IsNotExist(err):
		return good("data directory", "none yet: serve makes %s", c.Data)
	case err != nil:
		return bad("data directory", err)
	case info.Mode().Perm()&0o077 != 0:
		return bad("data directory", fmt.Errorf("%s can be read by others: chmod 700 %s", c.Data, c.Data))
	}
	return good("data directory", "%s", c.Data)
}

type healthcheckCommand struct {
	URL     string   `help:"Server to check. Default: the configured address." placeholder:"URL"`
	Timeout duration `default:"3s" help:"How long to wait."`
}

// Help implements kong.HelpProvider.
func (healthcheckCommand) Help() string {
	return `Exits with 0 if the server is ready, else with 1.

Example:
  atrium healthcheck --url http://127.0.0.1:8080`
}

// Run implements the command.
func (h *healthcheckCommand) Run(p *process) error {
	url := h.URL
	if url == "" {
		c, err := p.config(nil)
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(c.Server.Addr)
		if err != nil {
			return fmt.Errorf("server.addr: %w", err)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		url = "http://" + net.JoinHostPort(host, port)
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Duration(h.Timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/health/ready", nil)
	if err != nil {
		return misuse{fmt.Errorf("--url: %w", err)}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", resp.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ready")
	return err
}
