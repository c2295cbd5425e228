CREATE TABLE pi1 (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME NOT NULL, cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, data VARCHAR(4000) NOT NULL, PRIMARY KEY (transactionid)) ENGINE=InnoDB
INSERT INTO pi1 () VALUES (),()


-- l.i0, load, read false, counts $batch
-- 200000 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:00:00', 914, 20322, 6316, 384, 'aaaaaacxuageueuul'),('2026-01-01 00:00:00', 880, 64519, 5211, 62, 'aaaaaafccxnyg'),('2026-01-01 00:00:00', 163, 88845, 8438, 495, 'aaaaaackcsgtqpkjmou'),('2026-01-…

-- l.x, load, read false, counts $loaded
-- 200100 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:33:20', 285, 89278, 4108, 225, 'aaaaaarlxojlu'),('2026-01-01 00:33:20', 967, 31972, 9326, 151, 'aaaaaawvgpmbyua'),('2026-01-01 00:33:20', 609, 96459, 2921, 421, 'aaaaaaptzixx'),('2026-01-01 00:33…
ALTER TABLE pi1 ADD INDEX marketsegment USING BTREE (productid, customerid, price), ADD INDEX registersegment USING BTREE (cashregisterid, customerid, price), ADD INDEX pdc USING BTREE (price, dateandtime, customerid)

-- l.i1, write, read false, counts $batch
-- 64000 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:33:21', 848, 79036, 7864, 150, 'aaaaaargbity'),('2026-01-01 00:33:21', 599, 6917, 9772, 470, 'aaaaaaodvzcp'),('2026-01-01 00:33:21', 957, 50355, 7163, 332, 'aaaaaaflntsbjpttdo'),('2026-01-01 00:3…
DELETE FROM pi1 WHERE transactionid >= 1 ORDER BY transactionid LIMIT 50

-- l.i2, write, read false, counts $batch
-- 16000 operations
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:44:01', 391, 72983, 2056, 354, 'aaaaaaeqqalxiwwcm'),('2026-01-01 00:44:01', 808, 54707, 5061, 309, 'aaaaaaoxaduzqsj'),('2026-01-01 00:44:01', 589, 76486, 9962, 37, 'aaaaaacrygbnojtqcmse'),('2026-…
DELETE FROM pi1 WHERE transactionid >= 64001 ORDER BY transactionid LIMIT 5

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
-- 1000 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 8873 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:46:41', 234, 72923, 3799, 90, 'aaaaaazqebudxjux'),('2026-01-01 00:46:41', 717, 29969, 3361, 108, 'aaaaaakbtw'),('2026-01-01 00:46:41', 419, 31161, 1475, 112, 'aaaaaapnfdnah'),('2026-01-01 00:46:4…
DELETE FROM pi1 WHERE transactionid >= 80001 ORDER BY transactionid LIMIT 50

-- qp100, point, read false, counts transaction
-- 1000 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (215049,158731,238871,129518,173821,254680,166248,95930,222546,230922)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:46:51', 22, 68675, 795, 110, 'aaaaaavbjvpkwde'),('2026-01-01 00:46:51', 38, 77725, 6269, 136, 'aaaaaaeelouhjkizh'),('2026-01-01 00:46:51', 278, 70571, 7668, 481, 'aaaaaawaqhbyosdi'),('2026-01-01 …
DELETE FROM pi1 WHERE transactionid >= 81001 ORDER BY transactionid LIMIT 50

-- qr500, range, read false, counts transaction
-- 5000 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 9826 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:47:01', 376, 54503, 4029, 399, 'aaaaaafrwfeoajchyzfc'),('2026-01-01 00:47:01', 541, 85940, 8760, 365, 'aaaaaarxseaqxiqe'),('2026-01-01 00:47:01', 684, 81366, 5243, 13, 'aaaaaarioftyfcb'),('2026-0…
DELETE FROM pi1 WHERE transactionid >= 82001 ORDER BY transactionid LIMIT 50

-- qp500, point, read false, counts transaction
-- 5000 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (228993,214254,219661,152760,251547,208910,127722,286297,107423,172188)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:47:51', 204, 41846, 124, 21, 'aaaaaakfercfb'),('2026-01-01 00:47:51', 618, 71805, 6798, 373, 'aaaaaawikdjm'),('2026-01-01 00:47:51', 688, 97241, 3663, 320, 'aaaaaaorxlqymny'),('2026-01-01 00:47:5…
DELETE FROM pi1 WHERE transactionid >= 87001 ORDER BY transactionid LIMIT 50

-- qr1000, range, read false, counts transaction
-- 10000 operations
SELECT productid, customerid, price FROM pi1 FORCE INDEX (marketsegment) WHERE productid >= 2050 ORDER BY productid, customerid, price LIMIT 10
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:48:41', 779, 60573, 1984, 189, 'aaaaaaaeuqjqjhbzjyhg'),('2026-01-01 00:48:41', 638, 59062, 3462, 121, 'aaaaaajezvpx'),('2026-01-01 00:48:41', 340, 34888, 8688, 383, 'aaaaaacbgzzvcvifjg'),('2026-0…
DELETE FROM pi1 WHERE transactionid >= 92001 ORDER BY transactionid LIMIT 50

-- qp1000, point, read false, counts transaction
-- 10000 operations
SELECT transactionid, productid, data FROM pi1 WHERE transactionid IN (228712,278308,298203,253133,203249,122421,213645,298453,206213,204850)
INSERT INTO pi1 (dateandtime, cashregisterid, customerid, productid, price, data) VALUES ('2026-01-01 00:50:21', 538, 20143, 8254, 373, 'aaaaaarlmdaoslma'),('2026-01-01 00:50:21', 680, 91656, 648, 237, 'aaaaaaucul'),('2026-01-01 00:50:21', 486, 76371, 6876, 364, 'aaaaaacohogm'),('2026-01-01 00:50:21…
DELETE FROM pi1 WHERE transactionid >= 102001 ORDER BY transactionid LIMIT 50
