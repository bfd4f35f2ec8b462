package services_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// child names the environment variable that makes this test binary a process to be ended: it
// asks for a database, prints the server's folder, and then does what the variable says.
const child = "SERVICES_TEST_CHILD"

func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

func query(t *testing.T, db *sql.DB, statement string, args ...any) (value string) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), statement, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func TestPostgres(t *testing.T) {
	t.Run("every call returns a new, empty database", func(t *testing.T) {
		for range 2 {
			db := open(t, services.Postgres(t))
			if got := query(t, db, `SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`); got != "0" {
				t.Fatalf("it has %s tables", got)
			}
			if _, err := db.ExecContext(t.Context(), `CREATE TABLE things (id text)`); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("the database is dropped with the test, although connections are open", func(t *testing.T) {
		var name string
		var rest *sql.DB
		t.Run("the test", func(t *testing.T) {
			db, err := sql.Open("postgres", services.Postgres(t))
			require.NoError(t, err)
			name, rest = query(t, db, `SELECT current_database()`), db
		})
		defer rest.Close()
		if got := query(t, open(t, services.Postgres(t)), `SELECT count(*) FROM pg_database WHERE datname = $1`,
			name); got != "0" {
			t.Fatalf("%s is still there", name)
		}
	})
}

func TestStartPostgres(t *testing.T) {
	server, err := services.StartPostgres()
	require.NoError(t, err)
	defer server.Stop()
	db := open(t, server.URL)

	t.Run("text does not sort by its bytes, so that code which needs that must say so", func(t *testing.T) {
		if got := query(t, db, `SELECT 'a' < 'B'`); got != "true" {
			t.Fatal("it sorts like the C locale")
		}
	})

	t.Run("300 connections fit", func(t *testing.T) {
		require.Equal(t, "max_connections", query(t, db, `SHOW max_connections`), "300")
	})

	t.Run("after Stop nothing is left", func(t *testing.T) {
		folder := filepath.Dir(query(t, db, `SHOW data_directory`))
		pid := postmaster(t, folder)
		server.Stop()
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) || alive(pid) {
			t.Fatalf("folder %s: %v, server alive: %v", folder, err, alive(pid))
		}
	})
}

func TestStartPostgresWith(t *testing.T) {
	server, err := services.StartPostgresWith(map[string]string{"max_connections": "7", "hba_file": "@/rules"},
		map[string]string{"rules": "host all postgres 127.0.0.1/32 trust\n"})
	require.NoError(t, err)
	defer server.Stop()
	db := open(t, server.URL)
	assert.Equal(t, "max_connections", query(t, db, `SHOW max_connections`), "7")
	assert.Equal(t, "rules", query(t, db, `SELECT count(*) FROM pg_hba_file_rules`), "1")
}

// TestChild is not a test of its own: TestNothingIsLeftBehind runs it in another process.
func TestChild(t *testing.T) {
	end := os.Getenv(child)
	if end == "" {
		return
	}
	folder := filepath.Dir(query(t, open(t, services.Postgres(t)), `SHOW data_directory`))
	fmt.Println("server", postmaster(t, folder), folder) // it may be gone when the other process reads this
	switch end {
	case "panics":
		panic("as asked")
	case "exits":
		os.Exit(0)
	case "is killed", "is interrupted":
		select {}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	for _, end := range []string{"passes", "panics", "exits", "is killed", "is interrupted"} {
		t.Run("when the test binary "+end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
			cmd.Env = append(os.Environ(), child+"="+end, services.PostgresURL+"=")
			var pid int
			var folder string
			if _, err := fmt.Sscan(output(t, cmd, "server "), &pid, &folder); err != nil {
				t.Fatal(err)
			}
			switch end {
			case "is killed":
				cmd.Process.Signal(syscall.SIGKILL)
			case "is interrupted":
				cmd.Process.Signal(syscall.SIGINT)
			}
			if err := cmd.Wait(); (err == nil) != (end == "passes" || end == "exits") {
				t.Errorf("the process ended with %v", err)
			}
			gone(t, folder, pid)
		})
	}
}

func TestWithServices(t *testing.T) {
	command := filepath.Join(t.TempDir(), "withservices")
	if out, err := exec.Command("go", "build", "-o", command, "./cmd/withservices").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmdWith := func(t *testing.T, script string) *exec.Cmd {
		cmd := exec.Command(command, "--", "sh", "-c", script)
		cmd.Env = append(os.Environ(), services.PostgresURL+"=")
		cmd.Stderr = os.Stderr
		return cmd
	}

	t.Run("the command finds the server, its exit code comes back, and nothing is left", func(t *testing.T) {
		t.Parallel()
		cmd := cmdWith(t, `echo url $TEST_POSTGRES_URL; read _; exit 7`)
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		db := open(t, output(t, cmd, "url "))
		folder := filepath.Dir(query(t, db, `SHOW data_directory`))
		pid := postmaster(t, folder)
		stdin.Close()
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
			t.Errorf("the command ended with %v, want exit code 7", err)
		}
		if alive(pid) {
			t.Error("the server outlived the command")
		}
		gone(t, folder, pid)
	})

	t.Run("a signal reaches the command, which decides what becomes of it", func(t *testing.T) {
		t.Parallel()
		cmd := cmdWith(t, `trap 'exit 9' TERM; echo url $TEST_POSTGRES_URL; while :; do sleep 0.1; done`)
		folder := filepath.Dir(query(t, open(t, output(t, cmd, "url ")), `SHOW data_directory`))
		pid := postmaster(t, folder)
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 9 {
			t.Errorf("the command ended with %v, want exit code 9", err)
		}
		gone(t, folder, pid)
	})

	t.Run("a server that the environment names is used and left alone", func(t *testing.T) {
		t.Parallel()
		cmd := cmdWith(t, `echo url $TEST_POSTGRES_URL`)
		cmd.Env = append(os.Environ(), services.PostgresURL+"=postgres://elsewhere")
		assert.Equal(t, "url", output(t, cmd, "url "), "postgres://elsewhere")
		assert.NoError(t, cmd.Wait())
	})

	t.Run("a command that is not there is an error", func(t *testing.T) {
		t.Parallel()
		cmd := exec.Command(command, "--", filepath.Join(t.TempDir(), "missing"))
		cmd.Env = append(os.Environ(), services.PostgresURL+"=postgres://elsewhere")
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("it ended with %v, want exit code 2", err)
		}
	})
}

// output starts cmd and returns the rest of its line of output that begins with prefix.
func output(t *testing.T, cmd *exec.Cmd, prefix string) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill() })
	all := ""
	for lines := bufio.NewScanner(out); lines.Scan(); all += lines.Text() + "\n" {
		if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			return rest
		}
	}
	t.Fatalf("%v printed no line with %q, but:\n%s", cmd.Args, prefix, all)
	return ""
}

// postmaster returns the id of the server's first process.
func postmaster(t *testing.T, folder string) (pid int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
	require.NoError(t, err)
	if _, err := fmt.Sscan(string(b), &pid); err != nil || !alive(pid) {
		t.Fatalf("there is no server %d: %v", pid, err)
	}
	return pid
}

func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func gone(t *testing.T, folder string, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
	defer cancel()
	for {
		_, err := os.Stat(folder)
		if errors.Is(err, fs.ErrNotExist) && !alive(pid) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("folder %s: %v, server alive: %v", folder, err, alive(pid))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestADumpHoldsWhatIsStored(t *testing.T) {
	url := services.Postgres(t)
	db, err := sql.Open("postgres", url)
	require.NoError(t, err)
	defer db.Close()
	for _, statement := range []string{`CREATE TABLE kept (a text, b bytea)`,
		`INSERT INTO kept VALUES ('stored in the clear', 'stored as bytes')`} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	text := services.DumpPostgres(t, url)
	for _, want := range []string{"COPY public.kept", "stored in the clear",
		hex.EncodeToString([]byte("stored as bytes"))} {
		assert.Contains(t, want+": is not in the dump", text, want)
	}
}
