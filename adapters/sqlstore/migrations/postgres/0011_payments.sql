-- +goose Up
-- What a workspace is to an account of a payment gateway. Stored before the gateway hears of it: external_id
-- is empty until it has answered.
CREATE TABLE payment_customers (
    workspace_id    TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id),
    account         TEXT COLLATE "C" NOT NULL,
    org_id          TEXT COLLATE "C" NOT NULL,
    gateway         TEXT NOT NULL,
    external_id     TEXT COLLATE "C" NOT NULL,
    call_key        TEXT NOT NULL,
    name            TEXT NOT NULL,
    email           TEXT NOT NULL,
    default_method  TEXT NOT NULL,
    had_trial       BOOLEAN NOT NULL,
    pending         TEXT NOT NULL, -- JSON of the operation that is under way; empty for none
    wallet_at       BIGINT NOT NULL,
    subscription_at BIGINT NOT NULL,
    invoices_at     BIGINT NOT NULL,
    revision        BIGINT NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account)
);
CREATE UNIQUE INDEX payment_customers_external ON payment_customers (org_id, account, external_id) WHERE external_id <> '';

CREATE TABLE payment_methods (
    workspace_id TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    type         TEXT NOT NULL,
    brand        TEXT NOT NULL,
    last4        TEXT NOT NULL,
    exp_month    INTEGER NOT NULL,
    exp_year     INTEGER NOT NULL,
    country      TEXT NOT NULL,
    leaving      BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account, id),
    FOREIGN KEY (workspace_id, account) REFERENCES payment_customers (workspace_id, account) ON DELETE CASCADE
);

CREATE TABLE payment_subscriptions (
    workspace_id         TEXT COLLATE "C" NOT NULL,
    account              TEXT COLLATE "C" NOT NULL,
    id                   TEXT COLLATE "C" NOT NULL,
    plan_id              TEXT NOT NULL,
    quantity             INTEGER NOT NULL,
    status               TEXT NOT NULL,
    call_key             TEXT NOT NULL,
    period_start         BIGINT NOT NULL,
    period_end           BIGINT NOT NULL,
    trial_end            BIGINT NOT NULL,
    cancel_at_period_end BOOLEAN NOT NULL,
    pending_plan_id      TEXT NOT NULL,
    pending_quantity     INTEGER NOT NULL,
    pending_at           BIGINT NOT NULL, -- 0 for no pending change
    created_at           BIGINT NOT NULL,
    ended_at             BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account, id),
    FOREIGN KEY (workspace_id, account) REFERENCES payment_customers (workspace_id, account) ON DELETE CASCADE
);
-- One live subscription, whatever a program comes to believe.
CREATE UNIQUE INDEX payment_subscriptions_live ON payment_subscriptions (workspace_id, account) WHERE ended_at = 0;

CREATE TABLE payment_invoices (
    workspace_id TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    number       TEXT NOT NULL,
    status       TEXT NOT NULL,
    currency     TEXT NOT NULL,
    subtotal     BIGINT NOT NULL,
    tax          BIGINT NOT NULL,
    total        BIGINT NOT NULL,
    amount_due   BIGINT NOT NULL,
    amount_paid  BIGINT NOT NULL,
    period_start BIGINT NOT NULL,
    period_end   BIGINT NOT NULL,
    due_at       BIGINT NOT NULL,
    paid_at      BIGINT NOT NULL,
    hosted_url   TEXT NOT NULL,
    pdf_url      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, account, id),
    FOREIGN KEY (workspace_id, account) REFERENCES payment_customers (workspace_id, account) ON DELETE CASCADE
);
CREATE INDEX payment_invoices_newest ON payment_invoices (workspace_id, account, created_at, id);

-- What gateways told of, without what they told: their bodies hold secrets of payers.
CREATE TABLE payment_events (
    org_id       TEXT COLLATE "C" NOT NULL,
    account      TEXT COLLATE "C" NOT NULL,
    id           TEXT COLLATE "C" NOT NULL,
    gateway      TEXT NOT NULL,
    type         TEXT NOT NULL,
    customer     TEXT COLLATE "C" NOT NULL,
    workspace_id TEXT COLLATE "C" NOT NULL,
    state        TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    failure      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    received_at  BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    PRIMARY KEY (org_id, account, id)
);
CREATE INDEX payment_events_waiting ON payment_events (org_id, account, customer, received_at) WHERE ended_at = 0;
CREATE INDEX payment_events_newest ON payment_events (org_id, received_at, account, id);
CREATE INDEX payment_events_ended ON payment_events (ended_at) WHERE ended_at > 0;

-- What the sandbox gateway knows of each of its customers.
CREATE TABLE sandbox_books (
    org_id TEXT COLLATE "C" NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    book   TEXT NOT NULL,
    PRIMARY KEY (org_id, id)
);
