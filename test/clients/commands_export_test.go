package clients

import (
	"bytes"
	"encoding/json"
	"errors"
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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// TestExportOfEventsToABucket exports to an S3-compatible server that verifies signatures (AWS Signature Version 4) and
// conditional writes: that of rclone serve s3.
func TestExportOfEventsToABucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlite)
	home := t.TempDir()
	var puts, failing atomic.Int64
	s3 := gofakes3.New(s3mem.New(), gofakes3.WithV4Auth(map[string]string{"the-key": "the-secret"})).Server()
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && puts.Add(1) > 1 && failing.Load() > 0 {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s3.ServeHTTP(w, r)
	}))
	defer bucket.Close()
	client, err := minio.New(strings.TrimPrefix(bucket.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4("the-key", "the-secret", ""), Region: "us-east-1"})
	if err == nil {
		err = client.MakeBucket(t.Context(), "audit", minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	listed := func(prefix string) (keys []string) {
		t.Helper()
		for o := range client.ListObjectsIter(t.Context(), "audit", minio.ListObjectsOptions{Prefix: prefix}) {
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			keys = append(keys, o.Key)
		}
		return keys
	}
	objects := func() (keys []string) {
		for _, workspace := range listed("of/atrium/wsp_") {
			keys = append(keys, listed(workspace)...)
		}
		return keys
	}
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
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
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
	held := func() (names []string) {
		t.Helper()
		for _, key := range objects() {
			object, err := client.GetObject(t.Context(), "audit", key, minio.GetObjectOptions{})
			if err != nil || path.Ext(key) != ".ndjson" {
				t.Fatalf("%s: %v", key, err)
			}
			for lines := json.NewDecoder(object); ; {
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
		for until := time.Now().Add(proof.Patience); !slices.Equal(held(), want); time.Sleep(100 * time.Millisecond) {
			out, err := export("the-secret")
			if err != nil || time.Now().After(until) {
				t.Fatalf("the bucket holds %q: %v: %s", held(), err, out)
			}
		}
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
	for until := time.Now().Add(proof.Patience); ; {
		out, err := export("the-secret")
		if err != nil && strings.Contains(out, "AccessDenied") {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("a refused write is no error: %q, %v", out, err)
		}
	}
	failing.Store(0)
	awaitHeld("first", "second", "third")

	// Two exports that write at the same time: the second one is refused, and nothing is overwritten.
	before := held()
	for _, key := range objects() {
		options := minio.PutObjectOptions{}
		options.SetMatchETagExcept("*")
		if _, err := client.PutObject(t.Context(), "audit", key, bytes.NewReader(nil), 0, options); err == nil {
			t.Errorf("%s is overwritten", key)
		}
	}
	if after := held(); !slices.Equal(before, after) {
		t.Errorf("%q became %q", before, after)
	}
	for _, wrong := range [][]string{{"s3://"}, {"s3://audit", "--endpoint", "ftp://x"}} {
		if out, err := command("the-secret", append([]string{"events", "export"},
			wrong...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), "s3://bucket/prefix") {
			t.Errorf("%q: %s", wrong, out)
		}
	}
}
