CREATE TABLE customers (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    email   TEXT NOT NULL,
    country TEXT NOT NULL,
    since   DATE NOT NULL
);
CREATE TABLE orders (
    id          INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    ordered_at  DATETIME NOT NULL,
    status      TEXT NOT NULL,
    total       NUMERIC NOT NULL
);
CREATE VIEW revenue_by_country AS
SELECT c.country, COUNT(*) AS orders, ROUND(SUM(o.total), 2) AS revenue
FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status <> 'cancelled' GROUP BY c.country;

INSERT INTO customers (id, name, email, country, since) VALUES
    (1, 'Ada Lovelace', 'ada@example.com', 'GB', '2025-01-14'),
    (2, 'Grace Hopper', 'grace@example.com', 'US', '2025-02-03'),
    (3, 'Katherine Johnson', 'katherine@example.com', 'US', '2025-02-27'),
    (4, 'Emmy Noether', 'emmy@example.com', 'DE', '2025-04-08'),
    (5, 'Sophie Germain', 'sophie@example.com', 'FR', '2025-05-19'),
    (6, 'Maryam Mirzakhani', 'maryam@example.com', 'IR', '2025-07-30'),
    (7, 'Chien-Shiung Wu', 'wu@example.com', 'CN', '2025-09-12'),
    (8, 'Lise Meitner', 'lise@example.com', 'AT', '2025-11-02');

-- Two hundred orders, the same ones each time.
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
INSERT INTO orders (id, customer_id, ordered_at, status, total)
SELECT i, 1 + i * 7 % 8, DATETIME('2026-01-01 08:00:00', '+' || (i * 31) || ' hours'),
    CASE WHEN i % 17 = 0 THEN 'cancelled' WHEN i > 190 THEN 'open' ELSE 'shipped' END,
    ROUND(9.9 + i * 37 % 211 + i % 10 / 10.0, 2)
FROM n;
