package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"

	"github.com/atrium-hq/atrium/adapters/console"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/web"
)

func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func built(script string) http.Handler {
	var short bytes.Buffer
	w := brotli.NewWriter(&short)
	_, _ = w.Write([]byte(script)) // a buffer takes everything
	_ = w.Close()
	return console.New(fstest.MapFS{
		"index.html": {Data: []byte(`<base href="/console/" /><meta content="__NONCE__">
			<script src="./assets/index.js">`)},
		"assets/index.js": {Data: []byte(script)}, "assets/index.js.br": {Data: short.Bytes()},
		"assets/new.js": {Data: []byte(script)}, "favicon.svg": {Data: []byte("<svg/>")},
	})
}

func TestABuildWithoutItsPageIsAnError(t *testing.T) {
	h := console.New(fstest.MapFS{"assets/index.js": {Data: []byte("1")}})
	for range 2 {
		if w := get(t, h, console.Prefix); w.Code != 500 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestEveryScreenIsThePage(t *testing.T) {
	h := built("1")
	nonces := map[string]bool{}
	for place, base := range map[string]string{"": "./", "nothing": "./", "w/default/prompts": "../../",
		"w/default/prompts/ptpl_1": "../../../"} {
		w := get(t, h, console.Prefix+place)
		policy := w.Header().Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`'nonce-(\w+)'`).FindStringSubmatch(policy)
		if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" || nonce == nil || nonces[nonce[1]] ||
			!strings.Contains(w.Body.String(), `content="`+nonce[1]+`"`) ||
			!strings.Contains(w.Body.String(), `<base href="`+base+`"`) ||
			!strings.Contains(policy, "require-trusted-types-for 'script'; trusted-types 'none'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: %d %v %s", place, w.Code, w.Header(), w.Body)
		}
		nonces[nonce[1]] = true
	}
}

func TestAssetsAreKeptForAVersionAndGoneInTheNext(t *testing.T) {
	script := strings.Repeat("console.log(1);", 100)
	h, next := built(script), built(script+"2")
	texts := regexp.MustCompile(`\./(assets/\w+/index\.js)`).FindStringSubmatch(get(t, h, "/console/").Body.String())
	if texts == nil {
		t.Fatal("the page has no hash in the path of its script")
	}
	for accepts, encoding := range map[string]string{
		"gzip, deflate, br": "br", "gzip": "gzip", "br;q=0, gzip;q=0.5": "gzip", "br;q=1.0": "br", "identity": "",
	} {
		w := get(t, h, "/console/"+texts[1], "Accept-Encoding", accepts)
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
			w.Header().Get("Content-Encoding") != encoding || (w.Body.Len() < len(script)) != (encoding != "") {
			t.Errorf("%s: %d %v", accepts, w.Code, w.Header())
		}
	}
	unpackedContent, err := io.ReadAll(brotli.NewReader(get(t, h, "/console/"+texts[1], "Accept-Encoding", "br").Body))
	if err != nil || string(unpackedContent) != script {
		t.Errorf("brotli: %q, %v", unpackedContent, err)
	}
	if w := get(t, h, "/console/"+texts[1]); w.Body.String() != script {
		t.Errorf("without compression: %d %v", w.Code, w.Header())
	}
	w := get(t, h, "/console/"+strings.Replace(texts[1], "index", "new", 1), "Accept-Encoding", "gzip, br")
	if w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("a file without a form in Brotli: %d %v", w.Code, w.Header())
	}
	for name, goneResponse := range map[string]*httptest.ResponseRecorder{
		"another version": get(t, next, "/console/"+texts[1]), "no version": get(t, h, "/console/assets/index.js"),
		"no such file":                  get(t, h, strings.Replace("/console/"+texts[1], "index", "other", 1)),
		"a compressed form by its name": get(t, h, "/console/"+texts[1]+".br"),
	} {
		assert.Equal(t, name+": Code", goneResponse.Code, 404)
	}
}

func TestTheConsoleLoadsQuickly(t *testing.T) {
	dist, err := fs.Sub(web.Dist, "dist")
	require.NoError(t, err)
	page, err := fs.ReadFile(dist, "index.html")
	require.NoError(t, err)
	first := 0
	err = fs.WalkDir(dist, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		var packedBuffer bytes.Buffer
		w := gzip.NewWriter(&packedBuffer)
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if bytes.Contains(page, []byte(path.Base(name))) {
			first += packedBuffer.Len()
		} else if packedBuffer.Len() > 120<<10 {
			t.Errorf("%s has %d bytes compressed", name, packedBuffer.Len())
		}
		return nil
	})
	require.NoError(t, err)
	t.Logf("the first load has %d bytes, compressed", first)
	if first == 0 || first > 200<<10 {
		t.Errorf("the first load has %d bytes, compressed", first)
	}
}
