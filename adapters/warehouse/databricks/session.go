package databricks

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one connection to the API, with a token.
type session struct {
	ctx     context.Context
	to      ports.Target
	place   place
	network warehouse.Network
	web     *warehouse.Web
	at      address
	token   string

	catalog, warehouse string
	accepted           bool   // whether the server has accepted a statement
	version            string // of Databricks SQL
	user               string // as the catalogue names it
}

// Close ends the session. Statements have ended before.
func (s *session) Close() { s.web.Close() }

// open opens a session: it passes the steps up to and including database.
func (p place) open(
	ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace,
) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	path := target.Credential.Text("http_path")
	s := &session{ctx: ctx, to: target, place: p, network: n,
		at: p.server(target.Credential.Text(connection.FieldHost)), catalog: target.Credential.Text("catalog"),
		warehouse: path[strings.LastIndexByte(path, '/')+1:]}
	web, err := s.dial(starting, trace)
	if err != nil {
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	s.web = web
	if err := s.begin(trace); err != nil {
		web.Close()
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	return s, nil
}

// dial connects to the workspace. All workspaces use TLS: a server without TLS is not one of them.
func (s *session) dial(ctx context.Context, trace *warehouse.Trace) (*warehouse.Web, error) {
	web, err := warehouse.OpenWeb(ctx, s.network, s.at.host, s.at.port,
		&tls.Config{ServerName: s.at.host, RootCAs: s.place.roots, MinVersion: tls.VersionTLS12}, trace)
	if errors.Is(err, connection.TLSUnsupported) {
		err = connection.NotThisDatabase
	}
	return web, err
}

// begin signs in, and runs a statement that needs the warehouse and the catalog.
func (s *session) begin(trace *warehouse.Trace) error {
	if err := s.authenticate(); err != nil {
		return err
	}
	rows, err := s.query(`SELECT current_version().dbsql_version, current_user(), ` +
		`(SELECT CAST(COUNT(*) AS STRING) FROM ` + s.view("schemata") + `)`)
	switch {
	case s.accepted, errors.Is(err, connection.PermissionDenied), errors.Is(err, connection.DatabaseNotFound):
		trace.Passed(connection.Authenticate) // the server examines the rest only for a valid token
	case errors.Is(err, connection.QueryTimeout):
		return connection.ConnectTimeout
	}
	switch {
	case s.accepted && errors.Is(err, connection.TableNotFound):
		return connection.DatabaseNotFound
	case s.accepted && errors.Is(err, connection.PermissionDenied):
		return connection.DatabaseDeniedOrMissing
	case err != nil:
		return err
	case len(rows) != 1 || len(rows[0]) != 3 || rows[0][1] == nil:
		return connection.NotThisDatabase
	}
	if rows[0][0] != nil {
		s.version = *rows[0][0]
	}
	s.user = *rows[0][1]
	trace.Passed(connection.Database)
	return nil
}

// authenticate gets a token: the personal one, or one for a service principal's credential ("Authorize service
// principal access with OAuth" of Databricks' documentation; RFC 6749, section 4.4).
func (s *session) authenticate() error {
	c := s.to.Credential
	if c.Text("client_id") == "" {
		s.token = c.Secret("access_token").Reveal()
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Connect)
	defer cancel()
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"all-apis"}}
	token, err := s.web.Grant(ctx, "https://"+s.at.host+"/oidc/v1/token", form, func(r *http.Request) {
		r.SetBasicAuth(url.QueryEscape(c.Text("client_id")), url.QueryEscape(c.Secret("client_secret").Reveal()))
	}, grantRefused)
	s.token = token
	return err
}

// view returns the name for a view in the catalog's information schema.
func (s *session) view(name string) string { return quote(s.catalog) + `.information_schema.` + name }
