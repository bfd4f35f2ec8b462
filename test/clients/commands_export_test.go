package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestExportOfEventsToABucket exports to an S3-compatible server that verifies signatures (AWS Signature Version 4) and
// conditional writes: that of rclone serve s3.
func TestExportOfEventsToABucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	home := t.TempDir()
	var puts, failing, racing atomic.Int64
	store := s3mem.New()
	s3 := gofakes3.New(store, gofakes3.WithV4Auth(map[string]string{"the-key": "the-secret"})).Server()
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && puts.Add(1) > 1 && failing.Load() > 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPut && racing.Load() > 0 { // another export was faster
			_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			if _, err := store.PutObject(r.Context(), "audit", key, nil, strings.NewReader("{}\n"), 3); err != nil {
				t.Error(err)
			}
		}
		s3.ServeHTTP(w, r)
	}))
	defer bucket.Close()
	require.NoError(t, store.CreateBucket(t.Context(), "audit"))
	list := func(prefix string) (keys []string) {
		t.Helper()
		all, err := store.ListBucket(t.Context(), "audit", new(gofakes3.NewPrefix(&prefix, nil)),
			gofakes3.ListBucketPage{})
		require.NoError(t, err)
		for _, o := range all.Contents {
			keys = append(keys, o.Key)
		}
		return keys
	}
	objects := func() []string { return list("of/atrium/wsp_") }
	command := func(secret string, args ...string) *exec.Cmd {
		c := exec.Command(suite.Binary(t), args...)
		c.Dir, c.Stdin = home, strings.NewReader(w.key+"\n")
		c.Env = []string{"HOME=" + home, "AWS_ACCESS_KEY_ID=the-key", "AWS_SECRET_ACCESS_KEY=" + secret}
		return c
	}
	if out, err := command("", "login", w.node.URL).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	follower := command("", "events", "tail") // events get their place while someone follows them
	require.NoError(t, follower.Start())
	defer func() { _, _ = follower.Process.Kill(), follower.Wait() }()
	create := func(name string) {
		t.Helper()
		if out, err := command("", "api", "POST", "/api/prompt-templates", "-d",
			`{"name": "`+name+`"}`).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	export := func(secret string) (string, error) {
		out, err := command(secret, "events", "export", "s3://audit/of/atrium", "--endpoint", bucket.URL, "--region",
			"us-east-1", "--types", "prompt_template.created").CombinedOutput()
		return string(out), err
	}
	// held returns the names of the templates in all objects, in their order.
	isHeld := func() (names []string) {
		t.Helper()
		for _, key := range objects() {
			object, err := store.GetObject(t.Context(), "audit", key, nil)
			if err != nil || path.Ext(key) != ".ndjson" {
				t.Fatalf("%s: %v", key, err)
			}
			for lines := json.NewDecoder(object.Contents); ; {
				var e atrium.Event
				if err := lines.Decode(&e); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", key, err)
				}
				names = append(names, e.Data["name"].(string))
			}
		}
		return names
	}
	awaitHeld := func(want ...string) {
		t.Helper()
		proof.Eventually(t, fmt.Sprintf("the bucket holds %q", want), func() bool {
			if slices.Equal(isHeld(), want) {
				return true
			}
			out, err := export("the-secret")
			if err != nil {
				t.Fatalf("the bucket holds %q: %v: %s", isHeld(), err, out)
			}
			return false
		})
	}
	create("first")
	awaitHeld("first")
	create("second")
	awaitHeld("first", "second")
	if out, err := export("the-secret"); err != nil || out != "0 events written.\n" {
		t.Errorf("without new events: %q, %v", out, err)
	}
	if out, err := export("another"); err == nil || !strings.Contains(out, "SignatureDoesNotMatch") ||
		strings.Contains(out, "another") {
		t.Errorf("with a wrong secret: %q, %v", out, err)
	}
	create("third")
	failing.Store(1)
	for deadline := time.Now().Add(proof.Patience); ; {
		out, err := export("the-secret")
		if err != nil && strings.Contains(out, "AccessDenied") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a refused write is no error: %q, %v", out, err)
		}
	}
	failing.Store(0)
	awaitHeld("first", "second", "third")

	// Two exports that write at the same time: the second one is refused, and nothing is overwritten.
	create("fourth")
	racing.Store(1)
	for deadline := time.Now().Add(proof.Patience); ; {
		out, err := export("the-secret")
		if err != nil && strings.Contains(out, "another export is writing to the bucket") {
			break
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("a second export writes: %q, %v", out, err)
		}
	}
	racing.Store(0)
	keys := objects()
	object, err := store.GetObject(t.Context(), "audit", keys[len(keys)-1], nil)
	require.NoError(t, err)
	if text, err := io.ReadAll(object.Contents); string(text) != "{}\n" || err != nil {
		t.Errorf("%s is overwritten by %q, %v", keys[len(keys)-1], text, err)
	}
	for _, invalid := range [][]string{{"s3://"}, {"s3://audit", "--endpoint", "ftp://x"}} {
		if out, err := command("the-secret", append([]string{"events", "export"},
			invalid...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "s3://bucket/prefix") {
			t.Errorf("%q: %s", invalid, out)
		}
	}
}
