CREATE TABLE pi1 (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME NOT NULL, cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, data VARCHAR(4000) NOT NULL, PRIMARY KEY (transactionid)) ENGINE=InnoDB PARTITION BY RANGE (transactionid) (PARTITION p0 VALUES LESS THAN (2101), PARTITION p1 VALUES LESS THAN (4201), PARTITION p2 VALUES LESS THAN MAXVALUE)
INSERT INTO pi1 () VALUES (),()


-- l.i0, load, read false, counts $batch
-- 2000 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:00', 914, 20322, 6316, 384, 'aaaaaacxuageueuul'),('2026-01-01 00:00:00', 880, 64519, 5211, 62, 'aaaaaafccxnyg'),('2026-01-01 00:00:00', 163, 88845, 8438, 495, 'aaaaaackcsgtqpkjmou'),('2026-01-…

-- l.x, load, read false, counts $loaded
-- 2100 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:20', 285, 89278, 4108, 225, 'aaaaaarlxojlu'),('2026-01-01 00:00:20', 967, 31972, 9326, 151, 'aaaaaawvgpmbyua'),('2026-01-01 00:00:20', 609, 96459, 2921, 421, 'aaaaaaptzixx'),('2026-01-01 00:00…
ALTER TABLE pi1 ADD INDEX marketsegment USING BTREE (productid, customerid, price), ADD INDEX registersegment USING BTREE (cashregisterid, customerid, price), ADD INDEX pdc USING BTREE (price, dateandtime, customerid)

-- l.i1, write, read false, counts $batch
-- 800 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:21', 848, 79036, 7864, 150, 'aaaaaargbity'),('2026-01-01 00:00:21', 599, 6917, 9772, 470, 'aaaaaaodvzcp'),('2026-01-01 00:00:21', 957, 50355, 7163, 332, 'aaaaaaflntsbjpttdo'),('2026-01-01 00:0…
DELETE FROM pi1 WHERE transactionid >= 1 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- l.i2, write, read false, counts $batch
-- 200 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:29', 391, 72983, 2056, 354, 'aaaaaaeqqalxiwwcm'),('2026-01-01 00:00:29', 808, 54707, 5061, 309, 'aaaaaaoxaduzqsj'),('2026-01-01 00:00:29', 589, 76486, 9962, 37, 'aaaaaacrygbnojtqcmse'),('2026-…
DELETE FROM pi1 WHERE transactionid >= 801 ORDER BY transactionid LIMIT 5
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- settle: rest
SET @lwm = @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @pct = @@GLOBAL.innodb_max_dirty_pages_pct, @io = @@GLOBAL.innodb_io_capacity, @most = @@GLOBAL.innodb_io_capacity_max
SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0
SET GLOBAL innodb_max_dirty_pages_pct = 0
SET GLOBAL innodb_io_capacity_max = CAST(GREATEST(@most, 10000) AS UNSIGNED)
SET GLOBAL innodb_io_capacity = CAST(GREATEST(@io, 10000) AS UNSIGNED)
SET @same = 0, @history = 0
SELECT 1 FROM performance_schema.global_status d JOIN information_schema.innodb_metrics m WHERE d.variable_name = 'Innodb_buffer_pool_pages_dirty' AND d.variable_value < 100 AND m.name = 'trx_rseg_history_len' AND m.count < 1000
SET GLOBAL innodb_io_capacity = CAST(COALESCE(@io, @@GLOBAL.innodb_io_capacity) AS UNSIGNED)
SET GLOBAL innodb_io_capacity_max = CAST(COALESCE(@most, @@GLOBAL.innodb_io_capacity_max) AS UNSIGNED)
SET GLOBAL innodb_max_dirty_pages_pct = COALESCE(@pct, @@GLOBAL.innodb_max_dirty_pages_pct)
SET GLOBAL innodb_max_dirty_pages_pct_lwm = COALESCE(@lwm, @@GLOBAL.innodb_max_dirty_pages_pct_lwm)
-- qr100, range, read false, counts transaction
-- 100 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 8873 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:31', 234, 72923, 3799, 90, 'aaaaaazqebudxjux'),('2026-01-01 00:00:31', 717, 29969, 3361, 108, 'aaaaaakbtw'),('2026-01-01 00:00:31', 419, 31161, 1475, 112, 'aaaaaapnfdnah'),('2026-01-01 00:00:3…
DELETE FROM pi1 WHERE transactionid >= 1001 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- qp100, point, read false, counts transaction
-- 100 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (2537,1971,2776,1678,2123,2935,2047,1340,2612,2696)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:32', 22, 68675, 795, 110, 'aaaaaavbjvpkwde'),('2026-01-01 00:00:32', 38, 77725, 6269, 136, 'aaaaaaeelouhjkizh'),('2026-01-01 00:00:32', 278, 70571, 7668, 481, 'aaaaaawaqhbyosdi'),('2026-01-01 …
DELETE FROM pi1 WHERE transactionid >= 1101 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- qr500, range, read false, counts transaction
-- 500 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 9826 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:33', 376, 54503, 4029, 399, 'aaaaaafrwfeoajchyzfc'),('2026-01-01 00:00:33', 541, 85940, 8760, 365, 'aaaaaarxseaqxiqe'),('2026-01-01 00:00:33', 684, 81366, 5243, 13, 'aaaaaarioftyfcb'),('2026-0…
DELETE FROM pi1 WHERE transactionid >= 1201 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- qp500, point, read false, counts transaction
-- 500 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (3324,3203,3247,2699,3509,3159,2493,3794,2327,2858)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:38', 204, 41846, 124, 21, 'aaaaaakfercfb'),('2026-01-01 00:00:38', 618, 71805, 6798, 373, 'aaaaaawikdjm'),('2026-01-01 00:00:38', 688, 97241, 3663, 320, 'aaaaaaorxlqymny'),('2026-01-01 00:00:3…
DELETE FROM pi1 WHERE transactionid >= 1701 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- qr1000, range, read false, counts transaction
-- 1000 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 2050 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:43', 779, 60573, 1984, 189, 'aaaaaaaeuqjqjhbzjyhg'),('2026-01-01 00:00:43', 638, 59062, 3462, 121, 'aaaaaajezvpx'),('2026-01-01 00:00:43', 340, 34888, 8688, 383, 'aaaaaacbgzzvcvifjg'),('2026-0…
DELETE FROM pi1 WHERE transactionid >= 2201 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT

-- qp1000, point, read false, counts transaction
-- 1000 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (4876,5163,5278,5017,4729,4261,4789,5279,4746,4738)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:53', 538, 20143, 8254, 373, 'aaaaaarlmdaoslma'),('2026-01-01 00:00:53', 680, 91656, 648, 237, 'aaaaaaucul'),('2026-01-01 00:00:53', 486, 76371, 6876, 364, 'aaaaaacohogm'),('2026-01-01 00:00:53…
DELETE FROM pi1 WHERE transactionid >= 3201 ORDER BY transactionid LIMIT 50
BEGIN
SELECT transactionid, productid FROM pi1 ORDER BY transactionid LIMIT 1
DO SLEEP(2)
COMMIT
