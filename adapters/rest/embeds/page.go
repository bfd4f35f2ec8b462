package embeds

import (
	"bytes"
	"crypto/rand"
	stdembed "embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

var (
	//go:embed page/embed.css
	embedStyle string
	//go:embed page/*.js
	embedSources stdembed.FS
	//go:embed page/embed.html
	embedHTML string

	// The script contains the style too, so that it loads nothing else into a page of another site.
	embedScriptText = []byte(strings.Replace(compact(embedSource(), "\n"), "/*style*/", compact(embedStyle, ""), 1))

	embedTemplate = template.Must(template.New("embed").Parse(embedHTML))
)

// embedParts are the files of the script, in the order in which they need each other.
var embedParts = []string{
	"element", "words", "markdown", "theme", "connection", "history", "conversation", "launcher", "api", "page",
}

// embedSource joins the parts of the script in a function, so that a site's page sees none of their names.
func embedSource() string {
	var out strings.Builder
	out.WriteString("(() => {\n'use strict'\n")
	for _, part := range embedParts {
		source, err := embedSources.ReadFile("page/" + part + ".js")
		if err != nil {
			panic(err) // the program was built without it
		}
		out.Write(source)
	}
	out.WriteString("})()\n")
	return out.String()
}

// compact removes indentation and comment lines.
func compact(source, lineEnd string) string {
	var out strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			out.WriteString(line + lineEnd)
		}
	}
	return out.String()
}

// embedScript is the script that sites embed.
func embedScript() (*server.Asset, error) {
	return server.NewAsset(embedScriptText, "text/javascript; charset=utf-8", "public, max-age=3600")
}

// embedView is what embed.html shows: a chat, or why there is none.
type embedView struct {
	Nonce string
	Style template.CSS

	*embed.Template        // nil if there is nothing to show
	Initial         string // shown if there is no avatar
	Token, Ticket   string
	Site            embed.Origin // the only site that may frame the page and receives its messages
	Refusal, Code   string       // why there is none
	Preview         bool         // of a draft: the page has its session
}

// previewPage shows a chat's draft in a frame of Atrium's console, by the session that POST …/preview returned. The
// console puts the session into the fragment of the URL, which browsers do not send.
func previewPage() (ports.Answer, error) {
	view := embedView{Nonce: rand.Text(), Style: template.CSS(embedStyle), Preview: true} //nolint:gosec // it is ours
	var page bytes.Buffer
	if err := embedTemplate.Execute(&page, view); err != nil {
		return ports.Answer{}, err
	}
	header := server.PageHeaders(framePolicy(view.Nonce, "'self'"))
	return ports.Answer{Status: http.StatusOK, Body: page.Bytes(), Header: header}, nil
}

// framePolicy is the content security policy of the pages for frames.
func framePolicy(nonce, ancestors string) string {
	return "script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce +
		"'; img-src https:; connect-src 'self'; form-action 'none'; frame-ancestors " + ancestors
}

// embedPage shows a chat in a frame of another site. Only the site of the Referer may have it in a frame, and only if a
// token lists it; that also applies to the page that explains why there is no chat. The page's own requests have our
// origin, so it gets a ticket instead.
func (a *handlers) embedPage(r *server.Call) (ports.Answer, error) {
	visit := a.newVisit(r.Request)
	visit.Origin = embed.NoOrigin
	if referer := r.Header.Get("Referer"); referer != "" {
		visit.Origin, _ = originOf(referer)
	}
	token := server.PathVar(r.Request, "embed_token")
	if token == "preview" {
		return previewPage()
	}
	view := embedView{Nonce: rand.Text(), Style: template.CSS(embedStyle)} //nolint:gosec // it is ours
	status, ancestors, isListed := http.StatusOK, "'none'", false
	var e *embed.Embedding
	var ticket secret.String
	var embedToken *embed.Token
	err := a.LimitFailedAuth(r.ReplyHeader, server.Observed(r.Request), token, visit.At)
	if err == nil {
		limit := a.visitLimit(r.ReplyHeader, r.Request, visit.Origin, visit.At, "page")
		admit := func(t *embed.Token, count embed.Counted) error {
			embedToken = t
			return limit(t, count)
		}
		e, ticket, err = a.Services.Embeds.Ticket(r.Context(), visit, token, admit)
		isListed = embedToken != nil && visit.Origin != embed.NoOrigin && embedToken.Admits(visit.Origin)
		if errors.Is(err, embed.ErrTokenInvalid) && visit.Origin != embed.NoOrigin {
			isListed, _ = a.Services.Embeds.Expected(r.Context(), visit) // an outage: the page cannot be framed
		}
	}
	if err == nil {
		a.KnownTokens.Remember(token, visit.At)
		view.Template, view.Token, view.Ticket = &e.Template, token, ticket.Reveal()
		first, _ := utf8.DecodeRuneInString(e.Template.Name)
		view.Initial = strings.ToUpper(string(first))
	} else {
		err = a.CountFailedAuth(r.ReplyHeader, server.Observed(r.Request), token, err)
		a.countRefusal(embedToken, visit, err)
		f := server.PublicError(err)
		a.SetProblemHeaders(r.ReplyHeader, r.Request, f, err)
		status, view.Refusal, view.Code = server.Statuses[f.Kind], f.Detail, f.Code
	}
	if isListed {
		view.Site, ancestors = visit.Origin, string(visit.Origin)
	}
	var page bytes.Buffer
	if err := embedTemplate.Execute(&page, view); err != nil {
		return ports.Answer{}, err
	}
	header := server.PageHeaders(framePolicy(view.Nonce, ancestors))
	header["Vary"] = "Referer"
	return ports.Answer{Status: status, Body: page.Bytes(), Header: header}, nil
}
