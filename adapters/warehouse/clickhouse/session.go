package clickhouse

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one connection, all of whose requests are from the same user.
type session struct {
	ctx      context.Context
	network  warehouse.Network
	to       ports.Target
	web      *warehouse.Web
	settings url.Values // of each statement
	server   greeting
}

// greeting is what a server reports about itself and the user.
type greeting struct {
	version   string
	readonly  bool // no statement of the user can change anything
	totalRows bool // system.tables has estimates of rows, since version 20
}

// open opens a session: it passes the steps up to and including database.
func open(ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	config, err := warehouse.TLSConfig(target.Credential)
	if err != nil {
		return nil, connection.Internal
	}
	c := target.Credential
	web, err := warehouse.OpenWeb(starting, n, c.Text(connection.FieldHost), c.Port(), config, trace)
	if err != nil {
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	s := &session{ctx: ctx, network: n, to: target, web: web}
	if err := s.begin(starting, trace); err != nil {
		if config == nil && web.Silent() && errors.Is(err, connection.PortClosed) && speaksTLS(starting, n, target) {
			err = connection.TLSRequired
		}
		s.Close()
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	return s, nil
}

// speaksTLS distinguishes a server that requires TLS, and closes plain connections, from one that is shutting down. It
// uses a second connection, on which it only starts a TLS handshake.
func speaksTLS(ctx context.Context, n warehouse.Network, target ports.Target) bool {
	config := warehouse.Unverified("")
	web, err := warehouse.OpenWeb(ctx, n, target.Credential.Text(connection.FieldHost), target.Credential.Port(),
		config, nil)
	if err != nil {
		return false
	}
	web.Close()
	return true
}

// begin asks for the server's version and the settings that the user may change, without sending settings: a user who
// may change none would be refused.
func (s *session) begin(ctx context.Context, trace *warehouse.Trace) error {
	var rows [][]*string
	err := s.ask(ctx, `SELECT version(),
		(SELECT value FROM system.settings WHERE name = 'readonly'),
		(SELECT toString(count()) FROM system.databases WHERE name = currentDatabase()),
		(SELECT toString(count()) FROM system.columns WHERE database = 'system' AND table = 'tables'
		AND name = 'total_rows')`, nil, func(row []*string) error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		err = s.atStart(err)
		if errors.Is(err, connection.DatabaseNotFound) || errors.Is(err, connection.DatabaseDeniedOrMissing) {
			trace.Passed(connection.Authenticate) // a server looks up the database only after sign-in
		}
		return err
	}
	if len(rows) != 1 || !warehouse.Filled(rows[0], 4) {
		return connection.NotThisDatabase
	}
	trace.Passed(connection.Authenticate)
	if *rows[0][2] == "0" { // since version 20 it hides databases in which the user has no rights
		return connection.DatabaseDeniedOrMissing
	}
	trace.Passed(connection.Database)
	readonly := *rows[0][1]
	s.server = greeting{version: *rows[0][0], readonly: readonly != "0", totalRows: *rows[0][3] != "0"}
	if readonly == "1" {
		return nil // no setting can be changed; only our own timeout applies
	}
	s.settings = url.Values{
		"max_execution_time":    {strconv.Itoa(max(1, int(s.to.Limits.Statement.Seconds())))}, // fractions are newer
		"timeout_overflow_mode": {"throw"},
		"result_overflow_mode":  {"throw"}, // with break, a result that is cut would look complete
	}
	if !s.server.readonly {
		s.settings.Set("readonly", "2") // 1 would refuse the other settings
	}
	return nil
}

// atStart returns why a session did not begin.
func (s *session) atStart(err error) error {
	switch {
	case s.web.SpokeTLS():
		return connection.TLSRequired
	case errors.Is(err, connection.PermissionDenied):
		return connection.DatabaseDeniedOrMissing
	case errors.Is(err, connection.QueryTimeout):
		return connection.ConnectTimeout
	case errors.Is(err, connection.HostUnreachable) && s.web.Silent():
		return connection.PortClosed // it closed without sending anything
	}
	return err
}

// grace is the time after a statement's limit in which the server can report the timeout itself.
const grace = 500 * time.Millisecond

// query runs one statement under the session's settings, and returns its rows.
func (s *session) query(sql string) (rows [][]*string, err error) {
	return rows, s.each(sql, func(row []*string) error {
		rows = append(rows, row)
		return nil
	})
}

// each runs one statement under the session's settings, and passes its rows to do as they arrive.
func (s *session) each(sql string, handle func([]*string) error) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement+grace)
	defer cancel()
	id := rand.Text()
	err := s.ask(ctx, sql, url.Values{"query_id": {id}}, handle)
	if errors.Is(s.ctx.Err(), context.Canceled) {
		s.end(id)
	}
	switch {
	case errors.Is(err, connection.DatabaseDeniedOrMissing): // of a view's tables
		err = connection.PermissionDenied
	case errors.Is(err, connection.DatabaseNotFound): // as before
		err = connection.TableNotFound
	}
	return warehouse.UnlessCanceled(s.ctx, err)
}

// endTries is how often the end of a statement is requested. On a busy machine a connection can take longer than
// warehouse.CancelTimeout, and the statement would run until its own limit.
const endTries = 3

// end makes the server end a statement, which would otherwise run until its timeout: another one with the same
// identifier replaces it. A user who cannot change settings cannot request that.
func (s *session) end(id string) {
	if s.settings == nil {
		return
	}
	for range endTries {
		if s.replace(id) == nil {
			return
		}
	}
}

// replace runs a short statement in place of the one with an identifier, on a connection of its own.
func (s *session) replace(id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), warehouse.CancelTimeout)
	defer cancel()
	config, err := warehouse.TLSConfig(s.to.Credential)
	if err != nil {
		return err
	}
	c := s.to.Credential
	web, err := warehouse.OpenWeb(ctx, s.network, c.Text(connection.FieldHost), c.Port(), config, nil)
	if err != nil {
		return err
	}
	defer web.Close()
	other := *s
	other.web = web
	return other.ask(ctx, `SELECT '1'`, url.Values{"query_id": {id}, "replace_running_query": {"1"}},
		func([]*string) error { return nil })
}

// ask sends one statement, with more parameters of the request, and passes its rows to do; nil for NULL. All its
// columns must be texts.
func (s *session) ask(ctx context.Context, sql string, extra url.Values, handle func([]*string) error) error {
	request, err := s.request(ctx, sql, extra)
	if err != nil {
		return connection.Internal
	}
	return s.web.Stream(ctx, request, func(response *http.Response) error {
		if response.StatusCode == http.StatusOK {
			return readRows(response.Body, handle)
		}
		text, err := io.ReadAll(response.Body) // limited by the network
		if err != nil {
			return err
		}
		return refusal(warehouse.Answer{Status: response.StatusCode, Header: response.Header, Body: text})
	})
}

// request sends the statement in its body, since URLs are limited in length and end up in logs.
func (s *session) request(ctx context.Context, sql string, extra url.Values) (*http.Request, error) {
	c := s.to.Credential
	values := url.Values{
		"database":       {c.Text(connection.FieldDatabase)},
		"default_format": {"JSONCompact"}, // its end shows that no error has ended the rows
	}
	for name, v := range s.settings {
		values[name] = slices.Clone(v)
	}
	maps.Copy(values, extra)
	host := net.JoinHostPort(strings.TrimSuffix(c.Text(connection.FieldHost), "."), strconv.Itoa(int(c.Port())))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/?"+values.Encode(),
		strings.NewReader(sql))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "atrium")
	r.Header.Set("X-ClickHouse-User", c.Text(connection.FieldUsername))
	if password := c.Secret(connection.FieldPassword); !password.IsZero() {
		r.Header.Set("X-ClickHouse-Key", password.Reveal())
	}
	return r, nil
}

func (s *session) Close() { s.web.Close() }
