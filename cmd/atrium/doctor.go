package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/atrium-hq/atrium/configs"
)

type doctorCommand struct {
	All  doctorAllCommand  `cmd:"" default:"withargs" help:"Check configuration, keyring, database and data directory."`
	OIDC doctorOIDCCommand `cmd:"" name:"oidc" help:"Check the issuers, and what a token would become."`
}

// Help implements kong.HelpProvider.
func (doctorCommand) Help() string {
	return `Exits with 1 if anything is wrong.

Examples:
  atrium doctor --config /etc/atrium.yaml
  atrium doctor oidc --token-file token.jwt`
}

type doctorAllCommand struct {
	JSON bool `name:"json" help:"Answer as JSON."`
}

// Help implements kong.HelpProvider.
func (doctorAllCommand) Help() string {
	return `Changes nothing but what any start would: it brings the schema up to date. Without a
subcommand doctor does the same.

Example:
  atrium doctor all --config /etc/atrium.yaml`
}

// finding is the result of one check.
type finding struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Note  string `json:"note"`
}

// Run implements the command.
func (d *doctorAllCommand) Run(p *process) error { return p.report(diagnose(p), d.JSON) }

// report prints findings; that one of them is bad is an error.
func (p *process) report(findings []finding, asJSON bool) error {
	failed := 0
	for _, f := range findings {
		mark := "ok    "
		if !f.OK {
			failed++
			mark = "FAILED"
		}
		if !asJSON {
			fmt.Fprintf(p.stdout, "%s  %-14s %s\n", mark, f.Check, f.Note)
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

// diagnose checks one thing after the other, as far as each lets the next be checked.
func diagnose(p *process) []finding {
	c, err := p.config(nil)
	if err != nil {
		return []finding{{"configuration", false, err.Error()}}
	}
	findings := []finding{{"configuration", true, fmt.Sprintf("%d org(s)", len(c.Orgs))}, checkData(c)}
	app, closeAll, err := buildCore(p.ctx, c)
	if err != nil {
		return append(findings, finding{"database", false, err.Error()})
	}
	defer closeAll()
	findings = append(findings,
		finding{"keyring", true, fmt.Sprintf("%d key(s); opens what the database holds", len(app.keyring.Keys()))},
		finding{"database", true, app.db.Engine() + ", schema up to date"})
	empty, err := app.db.Empty(p.ctx)
	switch {
	case err != nil:
		findings = append(findings, finding{"people", false, err.Error()})
	case empty:
		findings = append(findings, finding{"people", true, "none yet: " + p.self("user create") + " --email EMAIL --role owner"})
	default:
		findings = append(findings, finding{"people", true, "there are some"})
	}
	return findings
}

// checkData looks at who can read the data directory.
func checkData(c configs.Config) finding {
	info, err := os.Stat(c.Data)
	switch {
	case os.IsNotExist(err):
		return finding{"data directory", true, c.Data + " will be made"}
	case err != nil:
		return finding{"data directory", false, err.Error()}
	case info.Mode().Perm()&0o077 != 0:
		return finding{"data directory", false, fmt.Sprintf("%s can be read by others: chmod 700 %s", c.Data, c.Data)}
	}
	return finding{"data directory", true, c.Data}
}

type healthcheckCommand struct {
	URL     string        `help:"Server to ask; the configured address unless given." placeholder:"URL"`
	Timeout time.Duration `default:"3s" help:"How long to wait."`
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
	ctx, cancel := context.WithTimeout(p.ctx, h.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/health/ready", nil)
	if err != nil {
		return fmt.Errorf("%w: --url: %w", errUsage, err)
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
