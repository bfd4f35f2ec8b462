package payments

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/adapters/rest/openapi"
	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

func createPortalSession(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.PortalSessionCreate](r)
	if err != nil {
		return nil, err
	}
	p, err := r.Payments.Portal(r.Context(), r.By, in.ReturnURL)
	return hostedReply(r, p, err)
}

func createCheckoutSession(r *server.Call) (server.Command, error) {
	in, err := server.Decode[openapi.CheckoutSessionCreate](r)
	if err != nil {
		return nil, err
	}
	p, err := r.Payments.Checkout(r.Context(), r.By, payments.CheckoutRequest{
		Plan:       payment.PlanID(in.PlanID),
		Pack:       payment.PlanID(in.CreditPackID),
		Quantity:   in.Quantity,
		Currency:   in.Currency,
		AddOns:     toAddOnOrders(in.AddOns),
		Trial:      in.Trial,
		SuccessURL: in.SuccessURL,
		CancelURL:  in.CancelURL,
		CheckoutPage: payment.CheckoutPage{
			PromotionCodes: in.AllowPromotionCodes, Address: in.CollectAddress, TaxIDs: in.CollectTaxIds,
			IsMethodOptional: in.PaymentMethodOptional, Locale: string(in.Locale),
		},
	})
	return hostedReply(r, p, err)
}

func hostedReply(r *server.Call, p *payments.HostedPage, err error) (server.Command, error) {
	if err != nil {
		return nil, err
	}
	out := server.OK(openapi.HostedPage{URL: absolute(r, p.URL), Gateway: openapi.PaymentGateway(p.Gateway)})
	out.Status, out.Reveals = http.StatusCreated, string(r.By.Workspace)
	return server.Respond(out), nil
}

//go:embed sandbox.html
var sandboxHTML string

var sandboxTemplate = template.Must(template.New("sandbox").Parse(sandboxHTML))

// sandboxView is what sandbox.html shows.
type sandboxView struct {
	Nonce   string
	Page    *payment.SandboxPage
	Gone    bool   // there is no page
	Refusal string // why the last form was refused
	Price   string
	Every   string
	PDF     string // where the invoice can be downloaded
	Ends    string
	Year    int
}

const (
	sandboxPage    = "/sandbox/pages/{customer}/{secret}"
	maxSandboxForm = 4 << 10
)

// sandboxRoutes serve the pages of the sandbox. They are for people, and not part of the contract. The secret
// in the path is the credential.
func (a *handlers) sandboxRoutes() []server.Route {
	return []server.Route{
		a.NewPage(http.MethodGet, sandboxPage, a.showSandboxPage),
		a.NewPage(http.MethodPost, sandboxPage, a.showSandboxPage),
		a.NewPage(http.MethodGet, sandboxPage+payment.InvoicePDF, a.showInvoicePDF),
	}
}

// showSandboxPage shows a page or handles its form. It counts unknown links by address, because a link is a secret that
// can be guessed.
func (a *handlers) showSandboxPage(r *server.Call) (ports.Answer, error) {
	link, page, err := a.sandboxPageOf(r)
	if err == nil && r.Method == http.MethodPost {
		var submitted *payment.SandboxPage
		if submitted, err = submitSandboxPage(r, link, page.Portal); err == nil {
			if page = submitted; page.Success != "" {
				return redirectPayer(page.Success), nil
			}
		}
	}
	return sandboxAnswer(r, page, err)
}

// sandboxPageOf returns the page that a link leads to.
func (a *handlers) sandboxPageOf(r *server.Call) (payment.SandboxLink, *payment.SandboxPage, error) {
	link := payment.SandboxLink{
		Customer: payment.CustomerID(server.PathVar(r.Request, "customer")),
		Secret:   secret.New(server.PathVar(r.Request, "secret")),
	}
	page, err := r.Payments.SandboxPage(r.Context(), server.Observed(r.Request).Org.ID, link)
	if errors.Is(err, payment.ErrPageNotFound) {
		err = a.CountUnauthenticated(r.ReplyHeader, server.Observed(r.Request), err)
	}
	return link, page, err
}

// showInvoicePDF returns a page's invoice as a PDF.
func (a *handlers) showInvoicePDF(r *server.Call) (ports.Answer, error) {
	_, page, err := a.sandboxPageOf(r)
	if err == nil && page.Invoice == nil {
		page, err = nil, payment.ErrPageNotFound
	}
	if err != nil {
		return sandboxAnswer(r, page, err)
	}
	return ports.Answer{
		Status: http.StatusOK,
		Body:   invoicePDF(page.Invoice),
		Header: map[string]string{
			"Content-Type": "application/pdf", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"X-Content-Type-Options": "nosniff",
			"Content-Disposition":    `attachment; filename="` + page.Invoice.Number + `.pdf"`,
		},
	}, nil
}

// submitSandboxPage does what a page's form says.
func submitSandboxPage(r *server.Call, link payment.SandboxLink, isPortal bool) (*payment.SandboxPage, error) {
	r.Body = http.MaxBytesReader(nil, r.Body, maxSandboxForm)
	if err := r.ParseForm(); err != nil {
		return nil, server.ErrBodyUnreadable
	}
	org := server.Observed(r.Request).Org.ID
	if isPortal {
		return r.Payments.EndFromPortal(r.Context(), org, link, r.PostForm.Get("action") == "end")
	}
	if r.PostForm.Get("action") == "without_card" {
		return r.Payments.CompleteCheckout(r.Context(), org, link, payment.Card{})
	}
	month, _ := strconv.Atoi(r.PostForm.Get("exp_month"))
	year, _ := strconv.Atoi(r.PostForm.Get("exp_year"))
	return r.Payments.CompleteCheckout(r.Context(), org, link, payment.Card{
		Number: secret.New(r.PostForm.Get("number")), ExpMonth: month, ExpYear: year,
	})
}

func redirectPayer(address string) ports.Answer {
	return ports.Answer{
		Status: http.StatusSeeOther,
		Header: map[string]string{
			"Location": address, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		},
	}
}

// sandboxAnswer returns a page, which is nil if not found, with the refusal of its form, if it was refused.
func sandboxAnswer(r *server.Call, p *payment.SandboxPage, err error) (ports.Answer, error) {
	view := sandboxView{Nonce: rand.Text(), Page: p, Year: r.API.Now().Year() + 3, Gone: p == nil}
	status, targets := http.StatusOK, "'self'"
	if err != nil {
		f := server.PublicError(err)
		r.API.SetProblemHeaders(r.ReplyHeader, r.Request, f, err)
		status, view.Refusal = server.Statuses[f.Kind], f.Detail
	}
	if p != nil {
		view.Price, view.Every = formatMoney(p.Plan.Price), formatInterval(p.Plan)
		if i := p.Invoice; i != nil {
			view.Price, view.PDF = formatMoney(i.Money(i.AmountDue)), r.URL.Path+payment.InvoicePDF
		}
		if s := p.Subscription; s != nil {
			view.Ends = s.PeriodEnd.Format(time.DateOnly)
		}
		// Browsers apply the policy to the redirect, too.
		if u, err := url.Parse(p.Success); err == nil && u.Host != "" {
			targets += " " + u.Scheme + "://" + u.Host
		}
	}
	var page bytes.Buffer
	if err := sandboxTemplate.Execute(&page, view); err != nil {
		return ports.Answer{}, err
	}
	return ports.Answer{
		Status: status,
		Body:   page.Bytes(),
		Header: server.PageHeaders("style-src 'nonce-" + view.Nonce + "'; form-action " + targets +
			"; frame-ancestors 'none'"),
	}, nil
}

func formatInterval(p payment.Plan) string {
	if p.IsPack() {
		return "once"
	}
	if p.IntervalCount > 1 {
		return fmt.Sprintf("every %d %ss", p.IntervalCount, p.Interval)
	}
	return "every " + string(p.Interval)
}
