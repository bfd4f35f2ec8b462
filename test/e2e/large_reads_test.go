package e2e

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// maxChild is the most memory of a child process that reads rows, in bytes.
const maxChild = 160 << 20

// openRowLimits is a part of the configuration of an org: the largest limits of rows.
const openRowLimits = "rows: {rows: 100000000, bytes: 68719476736, seconds: 10m}"

// TestALargeTableIsReadInConstantMemory streams tables of each kind of reader whose rows once were all in the memory of
// the child process: files of the folder, ClickHouse and MySQL. Each row arrives once, each time. In make test it reads
// one of each two that are read alike.
func TestALargeTableIsReadInConstantMemory(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite, isPlain, toLargeTables)
	ann := s.user(t, "admin")
	folder := filepath.Join(s.data, "sheets")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	for _, tt := range []struct {
		name     string
		rows     int
		location func(t *testing.T, rows int) object
	}{
		{"xlsx with shared texts", proof.Sample(100_000, 1_000_000), func(t *testing.T, rows int) object {
			return largeFile(t, folder, "shared.xlsx", rows, fixture.LargeXLSX(true))
		}},
		{"xlsx with texts in its cells", proof.Sample(0, 1_000_000), func(t *testing.T, rows int) object {
			return largeFile(t, folder, "inline.xlsx", rows, fixture.LargeXLSX(false))
		}},
		{"ods", proof.Sample(100_000, 1_000_000), func(t *testing.T, rows int) object {
			return largeFile(t, folder, "large.ods", rows, fixture.LargeODS)
		}},
		{"clickhouse", proof.Sample(100_000, 3_000_000), func(t *testing.T, rows int) object {
			return largeClickHouse(t, ann, rows)
		}},
		{"mysql", proof.Sample(0, 5_000_000), func(t *testing.T, rows int) object {
			return largeMySQL(t, ann, rows)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.rows == 0 {
				proof.Only(t)
			}
			path := sources + "/" + ann.create(t, sources, object{"type": "contacts",
				"location": tt.location(t, tt.rows),
				"mapping": []object{{"field": "email", "column": "Email"}, {"field": "full_name", "column": "Name"},
					{"field": "job_title", "column": "Title"}, {"field": "created_at", "column": "Since"}},
			}).
				at("id") +
				"/rows"
			for range proof.Sample(1, 3) {
				begun := time.Now()
				data, resident := readNumbered(t, ann, path, tt.rows)
				t.Logf("%d rows in %s; %d MiB of the child were resident, and it had mapped %d MiB", tt.rows,
					time.Since(begun).Round(time.Millisecond), resident>>20, data>>20)
				if resident == 0 || resident > maxChild {
					t.Errorf("%d bytes of the child were resident; at most %d", resident, maxChild)
				}
			}
			if !proof.Running() { // each file would be read twice
				return
			}
			in, end := openRows(t, ann,
				path+"?filter[email]="+url.QueryEscape(fmt.Sprintf("user%d@example.com", tt.rows-7)))
			defer end()
			if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
				t.Errorf("after the only row that the filter leaves: %q, %v", rest, err)
			}
		})
	}
}

func toLargeTables(d *deployment) {
	configured("orgs: [{slug: default, egress: {allow: [127.0.0.0/8]}, " + openRowLimits + ", " +
		unhurriedWarehouses + "}]")(d)
	toShops(d)
}

func largeFile(t *testing.T, folder, name string, rows int, write func(io.Writer, int) error) object {
	t.Helper()
	file, err := os.Create(filepath.Join(folder, name))
	require.NoError(t, err)
	out := bufio.NewWriterSize(file, 1<<20)
	require.NoError(t, write(out, rows))
	require.NoError(t, out.Flush())
	info, err := file.Stat()
	require.NoError(t, err)
	t.Logf("%s has %d bytes", name, info.Size())
	require.NoError(t, file.Close())
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	return object{"url": "file:" + name, "header_row": 1}
}

func largeClickHouse(t *testing.T, ann *client, rows int) object {
	t.Helper()
	server, err := services.StartClickHouse(
		"",
		`<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
		<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
		</users></yandex>`,
		nil,
	)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	for _, statement := range []string{`CREATE DATABASE shop`,
		`CREATE TABLE shop.people ENGINE = MergeTree ORDER BY id AS SELECT toUInt32(number + 1) AS id,
			concat('user', toString(id), '@example.com') AS Email,
			concat('Person no. ', toString(id), ' ', hex(intHash64(id))) AS Name,
			concat('Title ', toString(id % 100)) AS Title, toDateTime('2026-01-01 00:00:00') AS Since
			FROM system.numbers LIMIT ` + strconv.Itoa(rows)} {
		answer, err := http.Post(server.URL, "text/plain", strings.NewReader(statement))
		require.NoError(t, err)
		text, _ := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%d, %s", answer.StatusCode, text)
		}
	}
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, _ := strconv.Atoi(at.Port())
	id := ann.create(t, connections, object{"kind": "clickhouse", "credential": object{"host": "127.0.0.1",
		"port": port, "database": "shop", "username": "default", "tls": "disable"}}).at("id")
	return object{"connection_id": id, "schema": "shop", "table": "people"}
}

func largeMySQL(t *testing.T, ann *client, rows int) object {
	t.Helper()
	server, err := services.StartMariaDB(nil, nil)
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	db, err := sql.Open("mysql", server.URL)
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{`CREATE DATABASE shop`,
		`CREATE USER reader IDENTIFIED BY 'p'`, `GRANT SELECT ON shop.* TO reader`,
		`CREATE TABLE shop.people ENGINE = MyISAM SELECT CAST(seq AS UNSIGNED) AS id,
			CONCAT('user', seq, '@example.com') AS Email, CONCAT('Person no. ', seq, ' ', MD5(seq)) AS Name,
			CONCAT('Title ', seq % 100) AS Title, TIMESTAMP '2026-01-01 00:00:00' AS Since
			FROM seq_1_to_` + strconv.Itoa(rows)} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	_, address, _ := strings.Cut(server.URL, "(127.0.0.1:")
	port, _ := strconv.Atoi(address[:strings.Index(address, ")")])
	id := ann.create(t, connections, object{"kind": "mysql", "credential": object{"host": "127.0.0.1", "port": port,
		"database": "shop", "username": "reader", "password": "p", "tls": "disable"}}).at("id")
	return object{"connection_id": id, "schema": "shop", "table": "people"}
}

// readNumbered streams a source whose rows are numbered from 1 in their e-mail addresses, and checks that each arrives
// once, in any order: ClickHouse reads the parts of a table at the same time. It returns the most that a child of the
// server had meanwhile: data, as the kernel limits it, and memory.
func readNumbered(t *testing.T, as *client, path string, rows int) (data, resident int64) {
	t.Helper()
	in, end := openRows(t, as, path)
	defer end()
	lines := bufio.NewScanner(in)
	seen, n := make([]bool, rows+1), 1 // openRows has read one
	for lines.Scan() {
		n++
		_, after, _ := strings.Cut(lines.Text(), `"email":"user`)
		number, _, found := strings.Cut(after, "@example.com")
		i, err := strconv.Atoi(number)
		if err != nil || !found || i < 1 || i > rows || seen[i] {
			t.Fatalf("row %d is %s", n, lines.Text())
		}
		seen[i] = true
		if n%(rows/50) != 0 {
			continue
		}
		for _, pid := range childrenOf(t, as.server) {
			d, r := fixture.MemoryOf(pid)
			data, resident = max(data, d), max(resident, r)
		}
	}
	if lines.Err() != nil || n != rows {
		t.Fatalf("%d rows of %d, %v", n, rows, lines.Err())
	}
	return data, resident
}
