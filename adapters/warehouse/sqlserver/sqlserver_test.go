package sqlserver_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestStrictEncryptionComesBeforeTheFirstPacket(t *testing.T) {
	s := newServer(t, fixture.SQLServerStrict)
	if r := direct(t).Probe(t.Context(), s.target(t, map[string]any{"encrypt": "strict"})); r.Failure() != "" ||
		r.Server.Product != "SQL Server" || r.Server.Version != "16.0.4236.2" {
		t.Errorf("%+v", r)
	}
	r := direct(t).Probe(t.Context(), s.target(t, nil))
	if r.Failure() != connection.PortClosed && r.Failure() != connection.NotThisDatabase {
		t.Errorf("with mandatory encryption: %+v", r)
	}
}

func TestASignInTellsNothingAboutTheMachine(t *testing.T) {
	s := newServer(t, fixture.SQLServerMandatory)
	if r := warehouses.Confined(t).Probe(t.Context(), s.target(t, nil)); r.Failure() != "" {
		t.Fatalf("%+v", r)
	}
	want := fixture.SQLServerLogin{User: "reader", Database: "Sales", App: "atrium", ReadOnly: true}
	if got := s.Logins(); len(got) != 1 || got[0] != want {
		t.Errorf("sign-ins %+v, want %+v", got, want)
	}
}

// TestEachStatementSeesOneSnapshotWhereThatIsAllowed relies on the stand-in, which then refuses other statements.
func TestEachStatementSeesOneSnapshotWhereThatIsAllowed(t *testing.T) {
	s := newServer(t, fixture.SQLServerMandatory)
	s.Snapshot = true
	p, err := direct(t).Preview(t.Context(), s.target(t, nil), connection.PreviewQuery{Table: ref("kinds"), Rows: 1})
	if err != nil || len(p.Rows) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAServerMaySendASignInToAnotherServer(t *testing.T) {
	s := newServer(t, fixture.SQLServerMandatory)
	s.Route = fmt.Sprintf("127.0.0.1:%d", s.Port) // in circles
	if r := direct(t).Probe(t.Context(), s.target(t, nil)); r.Failure() != connection.NotThisDatabase {
		t.Errorf("in circles: %+v", r)
	}
	assert.Equal(t, "sign-ins", len(s.Logins()), 2)
	s.Route = fmt.Sprintf("127.0.0.2:%d", s.Port)
	target := s.target(t, nil)
	if r := direct(t).Probe(t.Context(), target); r.Failure() != connection.PortClosed {
		t.Errorf("to an address where no one listens: %+v", r)
	}
	s.Route = fmt.Sprintf("localhost:%d", newServer(t, fixture.SQLServerMandatory).Port)
	if r := direct(t).Probe(t.Context(), target); r.Failure() != connection.NetworkNotAllowed {
		t.Errorf("to another port: %+v", r)
	}
}

func TestAnEndlessStreamEndsAtTheServerToo(t *testing.T) {
	for name, stop := range map[string]func(*server){
		"that confirms it":     func(*server) {},
		"that does not listen": func(s *server) { s.Deaf = true },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, fixture.SQLServerMandatory)
			stop(s)
			target := s.target(t, nil)
			target.Limits.Statement, target.Limits.Total, target.Limits.Bytes = time.Hour, time.Hour, 1<<40
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := direct(t).Rows(ctx, target, connection.RowsQuery{Table: ref("endless"), Columns: []string{"never"},
				Limit: 1 << 30}, func(column.Batch) error { cancel(); return nil })
			start := time.Now()
			assert.ErrorIs(t, err, context.Canceled)
			proof.Eventually(t, "the server has stopped", func() bool { return s.Running() == 0 })
			proof.Within(t, "the end of the statement", time.Since(start), 2*time.Second)
		})
	}
}

func TestAStatementThatIsNotConfirmedEndsWithItsConnection(t *testing.T) {
	s := newServer(t, fixture.SQLServerMandatory)
	s.Deaf = true
	target := s.target(t, nil)
	target.Limits.Statement = time.Second // for the statements before, too
	p, err := direct(t).Preview(t.Context(), target, connection.PreviewQuery{Table: ref("slow"), Rows: 1})
	if err != nil || p.SampleError != connection.QueryTimeout {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestProductsOfAzureHaveTheirNames(t *testing.T) {
	s := newServer(t, fixture.SQLServerMandatory)
	s.Version, s.Edition = "12.0.2000.8", 5
	if r := direct(t).Probe(t.Context(), s.target(t, nil)); r.Failure() != "" ||
		r.Server.Product != "Azure SQL Database" {
		t.Errorf("%+v", r)
	}
}

func TestACredentialNamesALoginOfSQLServer(t *testing.T) {
	for name, tt := range map[string]struct{ fields, wrong string }{
		"a login": {`{"host": "h", "database": "d", "username": "u"}`, ""},
		"a user of Windows": {`{"host": "h", "database": "d", "username": "domain\\u"}`,
			"/credential/username"},
		"an instance": {`{"host": "h\\i", "database": "d", "username": "u"}`, "/credential/host"},
		"strict without TLS": {`{"host": "h", "database": "d", "username": "u", "tls": "disable", "encrypt": "strict"}`,
			"/credential/encrypt"},
	} {
		_, err := connection.ParseCredential(connection.SQLServer, []byte(tt.fields))
		problem := ""
		if refusedFault, ok := errors.AsType[*fault.Error](err); ok && len(refusedFault.Fields) == 1 {
			problem = refusedFault.Fields[0].Pointer
		}
		if problem != tt.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
