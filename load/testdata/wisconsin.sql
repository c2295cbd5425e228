CREATE TABLE tenktup1 (
  unique1 INT NOT NULL,
  unique2 INT NOT NULL,
  two INT NOT NULL,
  four INT NOT NULL,
  ten INT NOT NULL,
  twenty INT NOT NULL,
  onepercent INT NOT NULL,
  tenpercent INT NOT NULL,
  twentypercent INT NOT NULL,
  fiftypercent INT NOT NULL,
  unique3 INT NOT NULL,
  evenonepercent INT NOT NULL,
  oddonepercent INT NOT NULL,
  stringu1 CHAR(52) NOT NULL,
  stringu2 CHAR(52) NOT NULL,
  string4 CHAR(52) NOT NULL,
  PRIMARY KEY (unique2) USING BTREE,
  UNIQUE KEY u1 (unique1) USING BTREE,
  KEY onepercent (onepercent) USING BTREE
) ENGINE=InnoDB
INSERT INTO tenktup1 (evenonepercent,fiftypercent,four,oddonepercent,onepercent,string4,stringu1,stringu2,ten,tenpercent,twenty,twentypercent,two,unique1,unique2,unique3) VALUES (0,0,0,1,0,'HHHHxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',0,0,0,0,0,0,0,0),(142,1,3,143,71,'OOOOxxxx','08c10ccxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','cd73fe3xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',1,1,11,1,1,8271,1,8271)
ANALYZE TABLE tenktup1
CREATE TABLE tenktup2 (
  unique1 INT NOT NULL,
  unique2 INT NOT NULL,
  two INT NOT NULL,
  four INT NOT NULL,
  ten INT NOT NULL,
  twenty INT NOT NULL,
  onepercent INT NOT NULL,
  tenpercent INT NOT NULL,
  twentypercent INT NOT NULL,
  fiftypercent INT NOT NULL,
  unique3 INT NOT NULL,
  evenonepercent INT NOT NULL,
  oddonepercent INT NOT NULL,
  stringu1 CHAR(52) NOT NULL,
  stringu2 CHAR(52) NOT NULL,
  string4 CHAR(52) NOT NULL,
  PRIMARY KEY (unique2) USING BTREE,
  UNIQUE KEY u1 (unique1) USING BTREE,
  KEY onepercent (onepercent) USING BTREE
) ENGINE=InnoDB
INSERT INTO tenktup2 (evenonepercent,fiftypercent,four,oddonepercent,onepercent,string4,stringu1,stringu2,ten,tenpercent,twenty,twentypercent,two,unique1,unique2,unique3) VALUES (0,0,0,1,0,'HHHHxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',0,0,0,0,0,0,0,0),(142,1,3,143,71,'OOOOxxxx','08c10ccxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','cd73fe3xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',1,1,11,1,1,8271,1,8271)
ANALYZE TABLE tenktup2
CREATE TABLE onektup (
  unique1 INT NOT NULL,
  unique2 INT NOT NULL,
  two INT NOT NULL,
  four INT NOT NULL,
  ten INT NOT NULL,
  twenty INT NOT NULL,
  onepercent INT NOT NULL,
  tenpercent INT NOT NULL,
  twentypercent INT NOT NULL,
  fiftypercent INT NOT NULL,
  unique3 INT NOT NULL,
  evenonepercent INT NOT NULL,
  oddonepercent INT NOT NULL,
  stringu1 CHAR(52) NOT NULL,
  stringu2 CHAR(52) NOT NULL,
  string4 CHAR(52) NOT NULL,
  PRIMARY KEY (unique2) USING BTREE,
  UNIQUE KEY u1 (unique1) USING BTREE,
  KEY onepercent (onepercent) USING BTREE
) ENGINE=InnoDB
INSERT INTO onektup (evenonepercent,fiftypercent,four,oddonepercent,onepercent,string4,stringu1,stringu2,ten,tenpercent,twenty,twentypercent,two,unique1,unique2,unique3) VALUES (0,0,0,1,0,'HHHHxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','4821822xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',0,0,0,0,0,0,0,0),(142,1,3,143,71,'OOOOxxxx','2caeb22xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx','cd73fe3xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',1,1,11,1,1,271,1,271)
ANALYZE TABLE onektup

-- selection.1pct-scan, range, read true, counts transaction
-- 20 operations
SELECT * FROM tenktup1 IGNORE INDEX (`PRIMARY`, u1) WHERE unique3 BETWEEN 3497 AND 3596

-- selection.10pct-scan, range, read true, counts transaction
-- 20 operations
SELECT * FROM tenktup1 IGNORE INDEX (`PRIMARY`, u1) WHERE unique3 BETWEEN 1274 AND 2273

-- selection.1pct-clustered, range, read true, counts transaction
-- 200 operations
SELECT * FROM tenktup1 FORCE INDEX (`PRIMARY`) WHERE unique2 BETWEEN 2670 AND 2769

-- selection.10pct-clustered, range, read true, counts transaction
-- 50 operations
SELECT * FROM tenktup1 FORCE INDEX (`PRIMARY`) WHERE unique2 BETWEEN 4521 AND 5520

-- selection.1pct-index, range, read true, counts transaction
-- 100 operations
SELECT * FROM tenktup1 FORCE INDEX (u1) WHERE unique1 BETWEEN 6869 AND 6968

-- selection.10pct-index, range, read true, counts transaction
-- 20 operations
SELECT * FROM tenktup1 FORCE INDEX (u1) WHERE unique1 BETWEEN 4628 AND 5627

-- selection.one, point, read true, counts transaction
-- 1000 operations
SELECT * FROM tenktup1 WHERE unique2 = 7648

-- join.a-sel-b-scan, aggregate, read true, counts transaction
-- 1 operations
SELECT COUNT(*), SUM(t1.unique1 + t2.unique2) FROM tenktup1 t1 IGNORE INDEX (`PRIMARY`, u1), tenktup2 t2 IGNORE INDEX (`PRIMARY`, u1) WHERE t1.unique3 = t2.unique3 AND t2.unique3 < 1000

-- join.a-b-prime-scan, aggregate, read true, counts transaction
-- 1 operations
SELECT COUNT(*), SUM(t.unique1 + b.unique2) FROM tenktup1 t IGNORE INDEX (`PRIMARY`, u1), onektup b IGNORE INDEX (`PRIMARY`, u1) WHERE t.unique3 = b.unique3

-- join.c-sel-a-sel-b-scan, aggregate, read true, counts transaction
-- 1 operations
SELECT COUNT(*), SUM(o.unique1 + t1.unique2) FROM onektup o IGNORE INDEX (`PRIMARY`, u1), tenktup1 t1 IGNORE INDEX (`PRIMARY`, u1), tenktup2 t2 IGNORE INDEX (`PRIMARY`, u1) WHERE o.unique3 = t1.unique3 AND t1.unique3 = t2.unique3 AND t1.unique3 < 1000 AND t2.unique3 < 1000

-- join.a-sel-b-clustered, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(t1.unique1 + t2.unique2) FROM tenktup1 t1 FORCE INDEX (`PRIMARY`), tenktup2 t2 FORCE INDEX (`PRIMARY`) WHERE t1.unique2 = t2.unique2 AND t2.unique2 < 1000

-- join.a-b-prime-clustered, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(t.unique1 + b.unique2) FROM tenktup1 t FORCE INDEX (`PRIMARY`), onektup b FORCE INDEX (`PRIMARY`) WHERE t.unique2 = b.unique2

-- join.c-sel-a-sel-b-clustered, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(o.unique1 + t1.unique2) FROM onektup o FORCE INDEX (`PRIMARY`), tenktup1 t1 FORCE INDEX (`PRIMARY`), tenktup2 t2 FORCE INDEX (`PRIMARY`) WHERE o.unique2 = t1.unique2 AND t1.unique2 = t2.unique2 AND t1.unique2 < 1000 AND t2.unique2 < 1000

-- join.a-sel-b-index, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(t1.unique1 + t2.unique2) FROM tenktup1 t1 FORCE INDEX (u1), tenktup2 t2 FORCE INDEX (u1) WHERE t1.unique1 = t2.unique1 AND t2.unique1 < 1000

-- join.a-b-prime-index, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(t.unique1 + b.unique2) FROM tenktup1 t FORCE INDEX (u1), onektup b FORCE INDEX (u1) WHERE t.unique1 = b.unique1

-- join.c-sel-a-sel-b-index, aggregate, read true, counts transaction
-- 5 operations
SELECT COUNT(*), SUM(o.unique1 + t1.unique2) FROM onektup o FORCE INDEX (u1), tenktup1 t1 FORCE INDEX (u1), tenktup2 t2 FORCE INDEX (u1) WHERE o.unique1 = t1.unique1 AND t1.unique1 = t2.unique1 AND t1.unique1 < 1000 AND t2.unique1 < 1000

-- projection.1pct, aggregate, read true, counts transaction
-- 10 operations
SELECT DISTINCT two, four, ten, twenty, onepercent, string4 FROM tenktup1

-- projection.all, aggregate, read true, counts transaction
-- 4 operations
SELECT DISTINCT two, four, ten, twenty, onepercent, tenpercent, twentypercent, fiftypercent, unique3, evenonepercent, oddonepercent, stringu1, stringu2, string4 FROM tenktup1

-- aggregate.min-scan, aggregate, read true, counts transaction
-- 20 operations
SELECT MIN(unique3) FROM tenktup1

-- aggregate.min-index, aggregate, read true, counts transaction
-- 1000 operations
SELECT MIN(unique1) FROM tenktup1

-- aggregate.min-group, aggregate, read true, counts transaction
-- 10 operations
SELECT onepercent, MIN(unique3) FROM tenktup1 IGNORE INDEX (onepercent) GROUP BY onepercent

-- aggregate.sum-group, aggregate, read true, counts transaction
-- 10 operations
SELECT onepercent, SUM(unique3) FROM tenktup1 IGNORE INDEX (onepercent) GROUP BY onepercent

-- aggregate.sum-group-index, aggregate, read true, counts transaction
-- 10 operations
SELECT onepercent, SUM(unique3) FROM tenktup1 FORCE INDEX (onepercent) GROUP BY onepercent

-- update.insert, write, read true, counts transaction
-- 200 operations
-- before: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
INSERT INTO tenktup1 VALUES (10000000, 10000000, 0, 2, 0, 10, 50, 0, 1, 0, 50, 100, 101, 'kpquwzuifazuvfltnvaosohkqzmodfuwmksvmzfspwfzwehbqcnj', 'kpquwzuifazuvfltnvaosohkqzmodfuwmksvmzfspwfzwehbqcnj', 'AAAAxxxx')
-- after: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000

-- update.delete, write, read true, counts transaction
-- 200 operations
-- before: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
-- before: INSERT INTO tenktup1 SELECT unique1 + 20000000, unique2 + 20000000, two, four, ten, twenty, onepercent, tenpercent, twentypercent, fiftypercent, unique3, evenonepercent, oddonepercent, stringu1, strin
DELETE FROM tenktup1 WHERE unique2 = 10000000
-- after: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000

-- update.key, write, read true, counts transaction
-- 200 operations
-- before: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
-- before: INSERT INTO tenktup1 SELECT unique1 + 20000000, unique2 + 20000000, two, four, ten, twenty, onepercent, tenpercent, twentypercent, fiftypercent, unique3, evenonepercent, oddonepercent, stringu1, strin
UPDATE tenktup1 SET unique2 = unique2 + 5000000 WHERE unique2 = 10000000
-- after: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000

-- update.indexed, write, read true, counts transaction
-- 200 operations
-- before: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
-- before: INSERT INTO tenktup1 SELECT unique1 + 20000000, unique2 + 20000000, two, four, ten, twenty, onepercent, tenpercent, twentypercent, fiftypercent, unique3, evenonepercent, oddonepercent, stringu1, strin
UPDATE tenktup1 SET unique1 = unique1 + 5000000 WHERE unique2 = 10000000
-- after: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000

-- update.by-index, write, read true, counts transaction
-- 200 operations
-- before: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
-- before: INSERT INTO tenktup1 SELECT unique1 + 20000000, unique2 + 20000000, two, four, ten, twenty, onepercent, tenpercent, twentypercent, fiftypercent, unique3, evenonepercent, oddonepercent, stringu1, strin
UPDATE tenktup1 SET two = 1 - two WHERE unique1 = 10000000
-- after: DELETE FROM tenktup1 WHERE unique2 >= 20000000 AND unique2 < 20000000 + 10000000
