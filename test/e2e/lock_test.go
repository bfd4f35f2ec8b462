package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func TestOneServerPerSQLiteDatabase(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ann := s.user(t, "member")
	t.Run("a second server ends, and names the first", func(t *testing.T) {
		want := fmt.Sprintf("%s is in use by another atrium serve (process %d at %s): stop it first",
			filepath.Join(s.data, "atrium.db"), s.process.Process.Pid, strings.TrimPrefix(s.url, "http://"))
		if r := s.run(t, "serve"); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("ended with %d: %s\nwant %q", r.code, r.stderr, want)
		}
		ann.get(t, "/api/me")
	})
	t.Run("commands and a worker run beside a server", func(t *testing.T) {
		s.must(t, "doctor")
		s.must(t, "healthcheck") // which finds the port
		s.must(t, "migrate")
		s.user(t, "member").get(t, "/api/me")
		s.must(t, "backup", filepath.Join(s.folder, "backup.tar.gz"))
		worker := s.spawn(t, s.command("work"))
		worker.stderr.await(t, worker, regexp.MustCompile(`"msg":"working"`))
		worker.stop(t)
	})
	t.Run("the database is free when its server has ended, also by SIGKILL", func(t *testing.T) {
		lock, err := os.ReadFile(filepath.Join(s.data, "atrium.db.lock"))
		if err != nil || string(lock) != fmt.Sprintf("%d\n%s\n", s.process.Process.Pid,
			strings.TrimPrefix(s.url, "http://")) {
			t.Errorf("the lock file holds %q, %v", lock, err)
		}
		s.kill(t)
		next := s.deployment.start(t)
		ann.at(next).get(t, "/api/me")
		next.signal(t, syscall.SIGTERM)
		next.wait(t)
		if r := s.run(t, "healthcheck"); r.code != 1 || !strings.Contains(r.stderr, "no server responds at http://") {
			t.Errorf("healthcheck ended with %d: %s", r.code, r.stderr)
		}
		s.deployment.start(t)
	})
}
