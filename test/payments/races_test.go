package payments

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/stripesim"
	"github.com/atrium-hq/atrium/application/payments"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/payment"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
)

// guessed is a gateway that counts the promotion codes that it is asked for.
type guessed struct {
	ports.Gateway
	asked *atomic.Int64
}

func (g guessed) Promotion(
	ctx context.Context, c payment.CustomerID, code string, sale payment.Sale,
) (payment.Promotion, error) {
	g.asked.Add(1)
	return g.Gateway.Promotion(ctx, c, code, sale)
}

func TestGuessesInParallelStayWithinTheLimit(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var askedCount atomic.Int64
		s := newService(w.stores, func(org identity.OrgID) payments.Terms {
			return payments.Terms{
				Kind: payment.Sandbox, Account: stripesim.Account, Gateway: guessed{before(w.calm[org]),
					&askedCount}, Plans: plans,
				Limits: payment.CardLimits{InvalidCodesPerHour: 5},
			}
		})
		by := fixture.NewTeam(t, w.stores, w.orgs[0]).Owner
		w.addCard(t, by)
		var all sync.WaitGroup
		var invalid, limitedCount atomic.Int64
		for n := range 24 {
			all.Go(func() {
				_, err := s.Subscribe(context.Background(), at(by), fmt.Sprint("guess ", n), payment.SubscribeRequest{
					Plan: "basic", Quantity: 1, Code: fmt.Sprint("GUESS", n),
				})
				switch {
				case errors.Is(err, payment.ErrPromotionInvalid):
					invalid.Add(1)
				case errors.Is(err, payment.ErrPromotionLimit):
					limitedCount.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if askedCount.Load() != 5 || invalid.Load() != 5 || limitedCount.Load() != 19 {
			t.Errorf("the gateway was asked for %d codes; %d invalid, %d limited", askedCount.Load(), invalid.Load(),
				limitedCount.Load())
		}
	})
}

// TestCheckoutsInParallelLeaveOnePageOpen creates checkout pages at the same moment, at a gateway that takes a while.
func TestCheckoutsInParallelLeaveOnePageOpen(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		slow := w.simulator(w.orgs[0], func(stripesim.Call) (stripesim.Fault, time.Duration) {
			return stripesim.None, 20 * time.Millisecond
		})
		s := newService(w.stores, func(identity.OrgID) payments.Terms {
			return payments.Terms{
				Kind: payment.Sandbox, Account: stripesim.Account, Gateway: before(slow), Payer: slow, Plans: plans,
				Returns: payment.ReturnPolicy{Loopback: true},
			}
		})
		by := fixture.NewTeam(t, w.stores, w.orgs[0]).Owner
		w.addCard(t, by)
		for range 3 {
			var mu sync.Mutex
			var pages []string
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					p, err := s.Checkout(context.Background(), at(by), payments.CheckoutRequest{
						Plan: "basic", Quantity: 1, SuccessURL: "http://localhost/yes",
						CancelURL: "http://localhost/no",
					})
					assert.That(t, err == nil || errors.Is(err, payment.ErrPending), "%v", err)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						pages = append(pages, p.URL)
					}
				})
			}
			all.Wait()
			open := 0
			for _, url := range pages {
				if _, err := s.SandboxPage(t.Context(), by.Org, stripesim.LinkOf(url)); err == nil {
					open++
				} else if !errors.Is(err, payment.ErrPageNotFound) {
					t.Error(err)
				}
			}
			assert.That(t, len(pages) != 0 && open <= 1, "%d pages were created, and %d are open", len(pages), open)
		}
	})
}
