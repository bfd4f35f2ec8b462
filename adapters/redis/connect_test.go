package redis

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// open returns the signals of a URL with the patience of a test.
func open(t *testing.T, url string) *Signals {
	t.Helper()
	s, closeAll, err := New(Config{URL: secret.New(url)})
	require.NoError(t, err)
	t.Cleanup(closeAll)
	s.patience = proof.Patience
	return s
}

// listen returns what s hears.
func listen(t *testing.T, s *Signals) <-chan identity.OrgID {
	heard := make(chan identity.OrgID, 100)
	go func() { _ = s.Listen(t.Context(), func(org identity.OrgID) { heard <- org }) }()
	return heard
}

func await(t *testing.T, heard <-chan identity.OrgID, want identity.OrgID) {
	t.Helper()
	for late := time.After(proof.Patience); ; {
		select {
		case got := <-heard:
			if got == want {
				return
			}
		case <-late:
			t.Fatalf("nothing was heard of %q", want)
		}
	}
}

func TestAnIdleConnectionThatTheServerClosedLosesNoSignal(t *testing.T) {
	server := services.Redis(t)
	s := open(t, server.URL)
	require.NoError(t, s.Announce(t.Context(), "org"))
	server.Stop()
	require.NoError(t, server.Restart())
	assert.NoError(t, s.Announce(t.Context(), "org"))
}

func TestTheLoginIsThatOfTheURL(t *testing.T) {
	server := services.Redis(t)
	admin, err := redis.DialURL(server.URL)
	require.NoError(t, err)
	defer admin.Close()
	do := func(command string, args ...any) any {
		t.Helper()
		reply, err := admin.Do(command, args...)
		require.NoError(t, err)
		return reply
	}
	do("ACL", "SETUSER", "atrium", "on", ">p@ss", "+@all", "allchannels")
	do("CONFIG", "SET", "requirepass", "only/one")
	host := strings.TrimPrefix(server.URL, "redis://")
	for login, ok := range map[string]bool{
		"atrium:p%40ss@": true, ":only%2Fone@": true, "": false, "atrium:no@": false,
	} {
		s := open(t, "redis://"+login+host+"/3")
		if err := s.Announce(t.Context(), "org"); (err == nil) != ok {
			t.Errorf("as %q: %v", login, err)
		} else if ok {
			heard := listen(t, s)
			await(t, heard, "")
			if clients := fmt.Sprintf("%s", do("CLIENT", "LIST")); strings.Count(clients, "db=3") != 2 {
				t.Errorf("as %q in database 3: %s", login, clients)
			}
			for _, kind := range []string{"pubsub", "normal"} {
				do("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
			}
		}
	}
}

func TestWithTLSTheServersCertificateIsVerified(t *testing.T) {
	plain := strings.TrimPrefix(services.Redis(t).URL, "redis://")
	authority := httptest.NewTLSServer(nil) // for its certificate
	defer authority.Close()
	front, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: authority.TLS.Certificates})
	require.NoError(t, err)
	defer front.Close()
	go func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", plain)
			if err != nil {
				t.Error(err)
				return
			}
			go func() { _, _ = io.Copy(server, client); server.Close() }()
			go func() { _, _ = io.Copy(client, server); client.Close() }()
		}
	}()
	s := open(t, "rediss://"+front.Addr().String())
	if err := s.Announce(t.Context(), "org"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	s.server.tls.RootCAs = x509.NewCertPool()
	s.server.tls.RootCAs.AddCert(authority.Certificate())
	heard := listen(t, s)
	await(t, heard, "")
	assert.NoError(t, s.Announce(t.Context(), "org"))
	await(t, heard, "org")
}

func TestAListenerNoticesASilentServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	s := open(t, "redis://"+silent.Addr().String())
	s.server.ping = 50 * time.Millisecond
	heard := listen(t, s)
	conn, err := silent.Accept()
	require.NoError(t, err)
	defer conn.Close()
	if _, err := conn.Write([]byte("*3\r\n$9\r\nsubscribe\r\n$15\r\natrium_presence\r\n:1\r\n")); err != nil {
		t.Fatal(err)
	}
	await(t, heard, "")
	second, err := silent.Accept()
	require.NoError(t, err)
	second.Close()
}

func TestAServerThatNeverAnswersDelaysNobody(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer mute.Close()
	for _, scheme := range []string{"redis", "rediss"} {
		s, closeAll, err := New(Config{URL: secret.New(scheme + "://:secret@" + mute.Addr().String())})
		require.NoError(t, err)
		defer closeAll()
		if err := s.Announce(t.Context(), "org"); err == nil { // without its patience it would hang
			t.Errorf("%s: it was announced", scheme)
		}
	}
}

func TestURLsAreReadAsTheyAreDocumented(t *testing.T) {
	for text, want := range map[string]server{
		"redis://":                   {address: "localhost:6379"},
		"redis://[::1]":              {address: "[::1]:6379"},
		"redis://host:1/":            {address: "host:1"},
		"redis://:p%40ss@host/15":    {address: "host:6379", password: "p@ss", database: 15},
		"redis://me:p%2Fss@host:7/0": {address: "host:7", username: "me", password: "p/ss"},
	} {
		got, err := parse(secret.New(text))
		got.ping = 0
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"redis:host", "redis://host/1/2", "redis://host/-1", "redis://host?db=1",
		"unix:///run/redis.sock"} {
		if _, err := parse(secret.New(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
