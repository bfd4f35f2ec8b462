package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/cmd/atrium/internal/doctor"
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
	JSON bool `name:"json" help:"Print JSON: checks, each with check, ok, warning, note."`
}

// Help implements kong.HelpProvider.
func (doctorAllCommand) Help() string {
	return `Changes nothing and creates nothing: it reports what a start would do. doctor without a subcommand
does the same.

Example:
  atrium doctor all --config /etc/atrium.yaml`
}

// Run implements the command.
func (d *doctorAllCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return p.report([]doctor.Finding{doctor.Failed("configuration", err)}, d.JSON)
	}
	return p.report(doctor.Diagnose(p.ctx, c, p.hint("user create")), d.JSON)
}

// report prints findings, and returns an error if a check failed.
func (p *process) report(findings []doctor.Finding, asJSON bool) error {
	failures := 0
	var rows [][]string
	for _, f := range findings {
		mark := "ok     "
		switch {
		case !f.OK:
			failures++
			mark = "FAILED "
		case f.Warning:
			mark = "WARNING"
		}
		rows = append(rows, []string{mark, f.Check, f.Note})
		if !asJSON && !p.atTerminal() {
			fmt.Fprintf(p.stdout, "%s %-14s %s\n", mark, f.Check, f.Note)
		}
	}
	if asJSON {
		if err := p.print(true, map[string]any{"checks": findings}, ""); err != nil {
			return err
		}
	} else if p.atTerminal() {
		if err := p.table([]string{"STATUS", "CHECK", "NOTE"}, rows); err != nil {
			return err
		}
	}
	if failures > 0 {
		return fmt.Errorf("%d of %d checks failed", failures, len(findings))
	}
	return nil
}

type healthcheckCommand struct {
	URL     string   `help:"Server to check. Default: the one that runs on this data, or server.addr." placeholder:"URL"`
	Timeout duration `default:"3s" help:"How long to wait."`
	JSON    bool     `name:"json" help:"Print JSON: ready."`
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
		c, err := p.runningConfig()
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(c.Server.Addr)
		if err != nil {
			return fmt.Errorf("server.addr: %w", err)
		}
		if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
			host = "127.0.0.1"
		}
		url = "http://" + net.JoinHostPort(host, port)
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Duration(h.Timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/api/health/ready", nil)
	if err != nil || req.URL.Host == "" {
		return usageError{errors.New("--url must be an http or https URL, such as http://127.0.0.1:8080")}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no server responds at %s: %w", url, errors.Unwrap(err))
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", resp.Status)
	}
	return p.print(h.JSON, map[string]bool{"ready": true}, "ready\n")
}
