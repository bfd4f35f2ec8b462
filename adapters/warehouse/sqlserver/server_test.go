package sqlserver_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// server is the stand-in that the tests of the package share, and its authority.
type server struct {
	*fixture.SQLServer
	authority *fixture.Authority
}

var shared = sync.OnceValue(func() *server {
	return newServer(fixture.Setup{TB: &testing.T{}}, fixture.SQLServerMandatory)
})

// newServer starts a stand-in with the sample's tables.
func newServer(t testing.TB, encryption fixture.SQLServerEncryption) *server {
	authority := fixture.NewAuthority(t)
	s := &server{SQLServer: fixture.NewSQLServer(t, encryption, authority.ServerTLS(t, "127.0.0.1")),
		authority: authority}
	for name, user := range map[string]fixture.SQLServerUser{
		"reader": {}, "writer": {Writes: true},
		"locked":  {Errors: []int32{18486}},
		"crowded": {Errors: []int32{17809}},
		"paused":  {Errors: []int32{40613}},
		"spent":   {Errors: []int32{10929}},
		"odd":     {Errors: []int32{99}},
	} {
		user.Password, user.Databases = warehouses.Canary, []string{"Sales", "bare", "closed_tables"}
		s.Users[name] = &user
	}
	s.Databases["Sales"] = append(tables(), kinds())
	s.Databases["bare"] = nil
	s.Databases["closed_tables"] = []fixture.SQLServerTable{{Schema: "dbo", Name: "members", Type: "U", Denied: true}}
	s.Databases["closed_to_all"] = nil
	return s
}

// target is a target of reader; changes replaces fields of the credential.
func (s *server) target(t testing.TB, changes map[string]any) ports.Target {
	t.Helper()
	return warehouses.HostTarget(t, connection.SQLServer, map[string]any{
		"host": "127.0.0.1", "port": s.Port, "database": "Sales", "username": "reader",
		"password": warehouses.Canary, "tls_ca": s.authority.PEM,
	}, changes)
}

const strange = "a [strange] name]; DROP TABLE dbo.kinds"

func tables() []fixture.SQLServerTable {
	text := []fixture.SQLServerColumn{{Name: "what", Type: "nvarchar(40)", Nullable: true}}
	wide := fixture.SQLServerTable{Schema: "dbo", Name: "wide", Type: "U", Values: [][]any{nil}}
	for i := range warehouses.WideColumns {
		wide.Columns = append(wide.Columns, fixture.SQLServerColumn{Name: fmt.Sprintf("c%d", i), Type: "varchar(max)"})
		wide.Values[0] = append(wide.Values[0], strings.Repeat(fmt.Sprint(i%10), 2*connection.MaxCell))
	}
	fails := func(name string, numbers ...int32) fixture.SQLServerTable {
		return fixture.SQLServerTable{Schema: "dbo", Name: name, Type: "V", Columns: text, Errors: numbers}
	}
	absent := []fixture.SQLServerColumn{{Name: "never", Type: "int"}}
	return []fixture.SQLServerTable{
		wide,
		fails("divided", 8134), fails("leads_nowhere", 208, 4413), fails("raised", 51000), fails("beyond", 229),
		fails("locked", 1222), fails("newer", 195), fails("dropped", 208), fails("remote", 7399),
		{Schema: "dbo", Name: strange, Type: "U", Values: [][]any{{"here"}},
			Columns: []fixture.SQLServerColumn{{Name: "a ]col], b?", Type: "nvarchar(20)"}}},
		{Schema: "dbo", Name: "empty", Type: "U", Columns: []fixture.SQLServerColumn{{Name: "id", Type: "int"}}},
		{Schema: "dbo", Name: "members", Type: "U", Denied: true, Columns: text},
		{Schema: "dbo", Name: "slow", Type: "V", Slow: true, Columns: absent},
		{Schema: "dbo", Name: "endless", Type: "V", Endless: true, Values: [][]any{{int64(1)}}, Columns: absent},
		{Schema: "afar", Name: "kinds", Type: "X", Columns: text},
		{Schema: "dbo", Name: "kept", Type: "M", Columns: text, Values: [][]any{{"x"}}},
	}
}

// kind is a column of the table of kinds, with its values and how they are shown.
type kind struct {
	fixture.SQLServerColumn
	is     connection.Type
	values [3]any
	shown  [3]string // "" for NULL
}

func at(text string) time.Time {
	v, err := time.Parse("2006-01-02T15:04:05.9999999Z07:00", text)
	if err != nil {
		panic(err)
	}
	return v
}

// columnsOf has a column of each type. The second row has NULLs where it can.
func columnsOf() []kind {
	const integer, number, moment, words = connection.Integer, connection.Number, connection.DateTime, connection.Text
	column := func(name, kind string, nullable bool) fixture.SQLServerColumn {
		return fixture.SQLServerColumn{Name: name, Type: kind, Nullable: nullable}
	}
	long := strings.Repeat("é", connection.MaxCell+10)
	return []kind{
		{column("id", "bigint", false), integer, [3]any{int64(1), int64(2), int64(1 << 62)},
			[3]string{"1", "2", "4611686018427387904"}},
		{column("name", "nvarchar(400)", true), words, [3]any{"Ada", long, nil}, [3]string{"Ada", long, ""}},
		{column("born", "date", true), connection.Date, [3]any{at("0001-01-01T00:00:00Z"), at("9999-12-31T00:00:00Z"),
			nil}, [3]string{"0001-01-01", "9999-12-31", ""}},
		{column("tiny", "tinyint", false), integer, [3]any{int64(0), int64(255), int64(7)}, [3]string{"0", "255", "7"}},
		{column("small", "smallint", true), integer, [3]any{int64(-32768), nil, int64(1)},
			[3]string{"-32768", "", "1"}},
		{column("whole", "int", true), integer, [3]any{int64(-5), nil, int64(5)}, [3]string{"-5", "", "5"}},
		{column("sold", "bit", true), connection.Boolean, [3]any{true, nil, false}, [3]string{"true", "", "false"}},
		{column("kept", "bit", false), connection.Boolean, [3]any{true, false, true},
			[3]string{"true", "false", "true"}},
		{column("price", "decimal(10,2)", true), number, [3]any{"12.50", nil, "-0.05"},
			[3]string{"12.50", "", "-0.05"}},
		{column("exact", "numeric(38,0)", false), number, [3]any{strings.Repeat("9", 38), "0", "-1"},
			[3]string{strings.Repeat("9", 38), "0", "-1"}},
		{column("paid", "money", true), number, [3]any{"922337203685477.5807", nil, "-0.0001"},
			[3]string{"922337203685477.5807", "", "-0.0001"}},
		{column("cash", "smallmoney", false), number, [3]any{"1.5000", "0.0000", "-214748.3648"},
			[3]string{"1.5000", "0.0000", "-214748.3648"}},
		{column("rate", "float", true), number, [3]any{0.1, nil, -1e300}, [3]string{"0.1", "", "-1e+300"}},
		{column("share", "real", false), number, [3]any{0.1, 0.5, -3.25}, [3]string{"0.1", "0.5", "-3.25"}},
		{column("old", "datetime", true), moment, [3]any{at("1753-01-01T00:00:00Z"), nil, at("2026-02-28T23:59:59.5Z")},
			[3]string{"1753-01-01 00:00:00", "", "2026-02-28 23:59:59.5"}},
		{column("older", "smalldatetime", false), moment, [3]any{at("1900-01-01T00:00:00Z"), at("2079-06-06T23:59:00Z"),
			at("2026-01-02T03:04:00Z")},
			[3]string{"1900-01-01 00:00:00", "2079-06-06 23:59:00", "2026-01-02 03:04:00"}},
		{column("at", "datetime2(7)", true), moment, [3]any{at("2026-01-02T03:04:05.1234567Z"), nil,
			at("0001-01-01T00:00:00Z")}, [3]string{"2026-01-02 03:04:05.1234567", "", "0001-01-01 00:00:00"}},
		{column("seen", "datetimeoffset(3)", true), moment, [3]any{at("2026-01-02T03:04:05.125+02:00"), nil,
			at("2026-01-02T03:04:05-11:30")},
			[3]string{"2026-01-02 01:04:05.125+00:00", "", "2026-01-02 14:34:05+00:00"}},
		{column("opens", "time(0)", true), words, [3]any{at("2026-01-02T08:30:00Z"), nil, at("2026-01-02T23:59:59Z")},
			[3]string{"08:30:00", "", "23:59:59"}},
		{column("key", "uniqueidentifier", true), words, [3]any{"61F0C404-5CB3-11E7-907B-A6006AD3DBA0", nil,
			"00000000-0000-0000-0000-000000000001"}, [3]string{"61F0C404-5CB3-11E7-907B-A6006AD3DBA0", "",
			"00000000-0000-0000-0000-000000000001"}},
		{column("code", "char(3)", true), words, [3]any{"ab ", nil, "abc"}, [3]string{"ab ", "", "abc"}},
		{column("notes", "nvarchar(max)", true), words,
			[3]any{strings.Repeat("𝄞", connection.MaxCell+1), nil, "\t'\"\n"},
			[3]string{strings.Repeat("𝄞", connection.MaxCell), "", "\t'\"\n"}},
		{column("raw", "varbinary(200)", true), words, [3]any{make([]byte, 200), nil, []byte{1, 0xab}},
			[3]string{"0x" + strings.Repeat("00", connection.MaxCell/2-1), "", "0x01ab"}},
		{column("version", "timestamp", false), words, [3]any{[]byte("\x00\x00\x00\x00\x00\x00\x07\xd1"),
			[]byte("\x00\x00\x00\x00\x00\x00\x07\xd2"), []byte("\x00\x00\x00\x00\x00\x00\x07\xd3")},
			[3]string{"0x00000000000007d1", "0x00000000000007d2", "0x00000000000007d3"}},
		{column("page", "xml", true), words, [3]any{"<a/>", nil, "<b>1</b>"}, [3]string{"<a/>", "", "<b>1</b>"}},
		{column("node", "hierarchyid", true), words, [3]any{"/1/2/", nil, "/"}, [3]string{"/1/2/", "", "/"}},
		{column("place", "geography", true), words, [3]any{"POINT (1 2)", nil, "POINT EMPTY"},
			[3]string{"POINT (1 2)", "", "POINT EMPTY"}},
		{column("any", "sql_variant", true), words, [3]any{"1", nil, "x"}, [3]string{"1", "", "x"}},
		{column("doc", "json", true), connection.JSON, [3]any{`{"a":1}`, nil, `[]`}, [3]string{`{"a":1}`, "", `[]`}},
		{fixture.SQLServerColumn{Name: "login", Type: "nvarchar(128)", Alias: "sysname"}, words, [3]any{"a", "b", "c"},
			[3]string{"a", "b", "c"}},
	}
}

func kinds() fixture.SQLServerTable {
	t := fixture.SQLServerTable{Schema: "dbo", Name: "kinds", Type: "U", Values: make([][]any, 3)}
	for _, k := range columnsOf() {
		t.Columns = append(t.Columns, k.SQLServerColumn)
		for i, v := range k.values {
			t.Values[i] = append(t.Values[i], v)
		}
	}
	t.Columns = append(t.Columns, fixture.SQLServerColumn{Name: "salary", Type: "money", Denied: true})
	for i := range t.Values {
		t.Values[i] = append(t.Values[i], "1.0000")
	}
	return t
}
