package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/oidc"
	"github.com/atrium-hq/atrium/adapters/rest/sessions"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/doctor"
	"github.com/atrium-hq/atrium/domain/identity"
)

type doctorOIDCCommand struct {
	TokenFile string `name:"token-file" help:"File with a token to check; - is standard input." placeholder:"FILE"`
	Org       string `help:"Slug of the org, if several are configured." placeholder:"SLUG"`
	JSON      bool   `name:"json" help:"Print JSON: checks, each with check, ok, warning, note."`
}

// Help implements kong.HelpProvider.
func (doctorOIDCCommand) Help() string {
	return `Fetches the discovery document and keys of each issuer of the org. With a token, it reports
whether the token is accepted, and which roles the claim rules would give its bearer. Nothing is stored.

Example:
  atrium doctor oidc --token-file token.jwt`
}

// Run implements the command.
func (d *doctorOIDCCommand) Run(p *process) error {
	c, err := p.config(nil)
	if err != nil {
		return err
	}
	directory := c.Directory(func(string) identity.OrgID { return "" })
	all := directory.All()
	i := slices.IndexFunc(all, func(o identity.Org) bool { return o.Slug == d.Org || (d.Org == "" && len(all) == 1) })
	if i < 0 {
		return usageError{errors.New("name a configured org with --org")}
	}
	org, verifier := all[i], oidc.New(slog.New(slog.DiscardHandler))
	findings := []doctor.Finding{doctor.Passed("issuers", "%d configured for %s", len(org.Issuers), org.Slug)}
	if len(org.Issuers) == 0 {
		findings[0] = doctor.Finding{Check: "issuers", OK: true, Warning: true, Note: "none configured for " +
			org.Slug + ", so it accepts no tokens of an identity provider: orgs[].issuers adds one"}
	}
	for _, issuer := range org.Issuers {
		for _, f := range verifier.Diagnose(p.ctx, issuer, sessions.RedirectURI(&org)) {
			findings = append(findings, doctor.Finding{Check: f.Check, OK: f.OK, Note: f.Note})
		}
	}
	if d.TokenFile != "" {
		token, err := readToken(d.TokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		claims, err := verifier.Verify(p.ctx, org.Issuers, token, time.Now().UTC())
		if reason := oidc.Reason(err); reason != "" {
			findings = append(findings, doctor.Failed("token", errors.New("not accepted: "+reason)))
		} else if err != nil {
			findings = append(findings, doctor.Failed("token", fmt.Errorf("not verified: %w", err)))
		} else {
			findings = append(findings, doctor.Token(&org, claims))
		}
	}
	return p.report(findings, d.JSON)
}

func readToken(file string) (string, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, 64<<10))
	return strings.TrimSpace(string(b)), err
}
