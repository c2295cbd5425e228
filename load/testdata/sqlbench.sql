CREATE TABLE bench (
  id INT NOT NULL AUTO_INCREMENT,
  a INT NOT NULL,
  b INT NOT NULL,
  pad CHAR(20) NOT NULL,
  PRIMARY KEY (id) USING BTREE,
  KEY a (a) USING BTREE
) ENGINE=InnoDB
INSERT INTO bench (a,b,id,pad) VALUES (958550,516,1,'ypboffwalpcovrasupqi'),(685593,526,2,'ofpvuigcmhsacbqwqsxl')
ANALYZE TABLE bench
CREATE TABLE wide (
  id INT NOT NULL AUTO_INCREMENT,
  i1 INT NOT NULL DEFAULT 1, i2 INT NOT NULL DEFAULT 2, i3 INT NOT NULL DEFAULT 3, i4 INT NOT NULL DEFAULT 4, i5 INT NOT NULL DEFAULT 5, i6 INT NOT NULL DEFAULT 6, i7 INT NOT NULL DEFAULT 7, i8 INT NOT NULL DEFAULT 8, i9 INT NOT NULL DEFAULT 9, i10 INT NOT NULL DEFAULT 10,
  i11 INT NOT NULL DEFAULT 11, i12 INT NOT NULL DEFAULT 12, i13 INT NOT NULL DEFAULT 13, i14 INT NOT NULL DEFAULT 14, i15 INT NOT NULL DEFAULT 15, i16 INT NOT NULL DEFAULT 16, i17 INT NOT NULL DEFAULT 17, i18 INT NOT NULL DEFAULT 18, i19 INT NOT NULL DEFAULT 19, i20 INT NOT NULL DEFAULT 20,
  i21 INT NOT NULL DEFAULT 21, i22 INT NOT NULL DEFAULT 22, i23 INT NOT NULL DEFAULT 23, i24 INT NOT NULL DEFAULT 24, i25 INT NOT NULL DEFAULT 25, i26 INT NOT NULL DEFAULT 26, i27 INT NOT NULL DEFAULT 27, i28 INT NOT NULL DEFAULT 28, i29 INT NOT NULL DEFAULT 29, i30 INT NOT NULL DEFAULT 30,
  i31 INT NOT NULL DEFAULT 31, i32 INT NOT NULL DEFAULT 32, i33 INT NOT NULL DEFAULT 33, i34 INT NOT NULL DEFAULT 34, i35 INT NOT NULL DEFAULT 35, i36 INT NOT NULL DEFAULT 36, i37 INT NOT NULL DEFAULT 37, i38 INT NOT NULL DEFAULT 38, i39 INT NOT NULL DEFAULT 39, i40 INT NOT NULL DEFAULT 40,
  i41 INT NOT NULL DEFAULT 41, i42 INT NOT NULL DEFAULT 42, i43 INT NOT NULL DEFAULT 43, i44 INT NOT NULL DEFAULT 44, i45 INT NOT NULL DEFAULT 45, i46 INT NOT NULL DEFAULT 46, i47 INT NOT NULL DEFAULT 47, i48 INT NOT NULL DEFAULT 48, i49 INT NOT NULL DEFAULT 49, i50 INT NOT NULL DEFAULT 50,
  i51 INT NOT NULL DEFAULT 51, i52 INT NOT NULL DEFAULT 52, i53 INT NOT NULL DEFAULT 53, i54 INT NOT NULL DEFAULT 54, i55 INT NOT NULL DEFAULT 55, i56 INT NOT NULL DEFAULT 56, i57 INT NOT NULL DEFAULT 57, i58 INT NOT NULL DEFAULT 58, i59 INT NOT NULL DEFAULT 59, i60 INT NOT NULL DEFAULT 60,
  i61 INT NOT NULL DEFAULT 61, i62 INT NOT NULL DEFAULT 62, i63 INT NOT NULL DEFAULT 63, i64 INT NOT NULL DEFAULT 64, i65 INT NOT NULL DEFAULT 65, i66 INT NOT NULL DEFAULT 66, i67 INT NOT NULL DEFAULT 67, i68 INT NOT NULL DEFAULT 68, i69 INT NOT NULL DEFAULT 69, i70 INT NOT NULL DEFAULT 70,
  i71 INT NOT NULL DEFAULT 71, i72 INT NOT NULL DEFAULT 72, i73 INT NOT NULL DEFAULT 73, i74 INT NOT NULL DEFAULT 74, i75 INT NOT NULL DEFAULT 75, i76 INT NOT NULL DEFAULT 76, i77 INT NOT NULL DEFAULT 77, i78 INT NOT NULL DEFAULT 78, i79 INT NOT NULL DEFAULT 79, i80 INT NOT NULL DEFAULT 80,
  i81 INT NOT NULL DEFAULT 81, i82 INT NOT NULL DEFAULT 82, i83 INT NOT NULL DEFAULT 83, i84 INT NOT NULL DEFAULT 84, i85 INT NOT NULL DEFAULT 85, i86 INT NOT NULL DEFAULT 86, i87 INT NOT NULL DEFAULT 87, i88 INT NOT NULL DEFAULT 88, i89 INT NOT NULL DEFAULT 89, i90 INT NOT NULL DEFAULT 90,
  i91 INT NOT NULL DEFAULT 91, i92 INT NOT NULL DEFAULT 92, i93 INT NOT NULL DEFAULT 93, i94 INT NOT NULL DEFAULT 94, i95 INT NOT NULL DEFAULT 95, i96 INT NOT NULL DEFAULT 96, i97 INT NOT NULL DEFAULT 97, i98 INT NOT NULL DEFAULT 98, i99 INT NOT NULL DEFAULT 99, i100 INT NOT NULL DEFAULT 100,
  i101 INT NOT NULL DEFAULT 101, i102 INT NOT NULL DEFAULT 102, i103 INT NOT NULL DEFAULT 103, i104 INT NOT NULL DEFAULT 104, i105 INT NOT NULL DEFAULT 105, i106 INT NOT NULL DEFAULT 106, i107 INT NOT NULL DEFAULT 107, i108 INT NOT NULL DEFAULT 108, i109 INT NOT NULL DEFAULT 109, i110 INT NOT NULL DEFAULT 110,
  i111 INT NOT NULL DEFAULT 111, i112 INT NOT NULL DEFAULT 112, i113 INT NOT NULL DEFAULT 113, i114 INT NOT NULL DEFAULT 114, i115 INT NOT NULL DEFAULT 115, i116 INT NOT NULL DEFAULT 116, i117 INT NOT NULL DEFAULT 117, i118 INT NOT NULL DEFAULT 118, i119 INT NOT NULL DEFAULT 119, i120 INT NOT NULL DEFAULT 120,
  i121 INT NOT NULL DEFAULT 121, i122 INT NOT NULL DEFAULT 122, i123 INT NOT NULL DEFAULT 123, i124 INT NOT NULL DEFAULT 124, i125 INT NOT NULL DEFAULT 125, i126 INT NOT NULL DEFAULT 126, i127 INT NOT NULL DEFAULT 127, i128 INT NOT NULL DEFAULT 128, i129 INT NOT NULL DEFAULT 129, i130 INT NOT NULL DEFAULT 130,
  i131 INT NOT NULL DEFAULT 131, i132 INT NOT NULL DEFAULT 132, i133 INT NOT NULL DEFAULT 133, i134 INT NOT NULL DEFAULT 134, i135 INT NOT NULL DEFAULT 135, i136 INT NOT NULL DEFAULT 136, i137 INT NOT NULL DEFAULT 137, i138 INT NOT NULL DEFAULT 138, i139 INT NOT NULL DEFAULT 139, i140 INT NOT NULL DEFAULT 140,
  i141 INT NOT NULL DEFAULT 141, i142 INT NOT NULL DEFAULT 142, i143 INT NOT NULL DEFAULT 143, i144 INT NOT NULL DEFAULT 144, i145 INT NOT NULL DEFAULT 145, i146 INT NOT NULL DEFAULT 146, i147 INT NOT NULL DEFAULT 147, i148 INT NOT NULL DEFAULT 148, i149 INT NOT NULL DEFAULT 149, i150 INT NOT NULL DEFAULT 150,
  i151 INT NOT NULL DEFAULT 151, i152 INT NOT NULL DEFAULT 152, i153 INT NOT NULL DEFAULT 153, i154 INT NOT NULL DEFAULT 154, i155 INT NOT NULL DEFAULT 155, i156 INT NOT NULL DEFAULT 156, i157 INT NOT NULL DEFAULT 157, i158 INT NOT NULL DEFAULT 158, i159 INT NOT NULL DEFAULT 159, i160 INT NOT NULL DEFAULT 160,
  i161 INT NOT NULL DEFAULT 161, i162 INT NOT NULL DEFAULT 162, i163 INT NOT NULL DEFAULT 163, i164 INT NOT NULL DEFAULT 164, i165 INT NOT NULL DEFAULT 165, i166 INT NOT NULL DEFAULT 166, i167 INT NOT NULL DEFAULT 167, i168 INT NOT NULL DEFAULT 168, i169 INT NOT NULL DEFAULT 169, i170 INT NOT NULL DEFAULT 170,
  i171 INT NOT NULL DEFAULT 171, i172 INT NOT NULL DEFAULT 172, i173 INT NOT NULL DEFAULT 173, i174 INT NOT NULL DEFAULT 174, i175 INT NOT NULL DEFAULT 175, i176 INT NOT NULL DEFAULT 176, i177 INT NOT NULL DEFAULT 177, i178 INT NOT NULL DEFAULT 178, i179 INT NOT NULL DEFAULT 179, i180 INT NOT NULL DEFAULT 180,
  i181 INT NOT NULL DEFAULT 181, i182 INT NOT NULL DEFAULT 182, i183 INT NOT NULL DEFAULT 183, i184 INT NOT NULL DEFAULT 184, i185 INT NOT NULL DEFAULT 185, i186 INT NOT NULL DEFAULT 186, i187 INT NOT NULL DEFAULT 187, i188 INT NOT NULL DEFAULT 188, i189 INT NOT NULL DEFAULT 189, i190 INT NOT NULL DEFAULT 190,
  i191 INT NOT NULL DEFAULT 191, i192 INT NOT NULL DEFAULT 192, i193 INT NOT NULL DEFAULT 193, i194 INT NOT NULL DEFAULT 194, i195 INT NOT NULL DEFAULT 195, i196 INT NOT NULL DEFAULT 196, i197 INT NOT NULL DEFAULT 197, i198 INT NOT NULL DEFAULT 198, i199 INT NOT NULL DEFAULT 199, i200 INT NOT NULL DEFAULT 200,
  PRIMARY KEY (id)
) ENGINE=InnoDB
INSERT INTO wide (id) VALUES (1),(2)
ANALYZE TABLE wide
CREATE TABLE city (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL, state INT NOT NULL, KEY state (state)) ENGINE=InnoDB
INSERT INTO city (id,name,state) VALUES (1,'city cd73fe3d',2),(2,'city 7b476c5a',3)
ANALYZE TABLE city
CREATE TABLE carrier (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL) ENGINE=InnoDB
INSERT INTO carrier (id,name) VALUES (1,'carrier 019dfcb2'),(2,'carrier 7ee6b8a2')
ANALYZE TABLE carrier
CREATE TABLE flight (
  id INT NOT NULL PRIMARY KEY,
  carrier INT NOT NULL,
  origin INT NOT NULL,
  destination INT NOT NULL,
  departs INT NOT NULL,
  minutes INT NOT NULL,
  KEY carrier (carrier),
  KEY origin (origin, destination) USING BTREE
) ENGINE=InnoDB
INSERT INTO flight (carrier,departs,destination,id,minutes,origin) VALUES (8,490,48,1,191,28),(4,127,33,2,338,31)
ANALYZE TABLE flight
CREATE TABLE fare (flight INT NOT NULL, class INT NOT NULL, price INT NOT NULL, PRIMARY KEY (flight, class) USING BTREE) ENGINE=InnoDB
INSERT INTO fare (class,flight,price) VALUES (1,1,626),(2,1,784)
ANALYZE TABLE fare

-- alter-table.add-column, write, read true, counts transaction
-- 10 operations
-- before: DROP TABLE IF EXISTS alter_1
-- before: CREATE TABLE alter_1 (id INT NOT NULL PRIMARY KEY, k0 INT, k1 INT, k2 INT, k3 INT, k4 INT, k5 INT, k6 INT, k7 INT) ENGINE=InnoDB
-- before: INSERT INTO alter_1 SELECT id, a, b, a, b, a, b, a, b FROM bench WHERE id <= 1000
ALTER TABLE alter_0 ADD COLUMN c0 INT
-- after: DROP TABLE alter_1

-- alter-table.add-first, write, read true, counts transaction
-- 4 operations
-- before: DROP TABLE IF EXISTS alter_1
-- before: CREATE TABLE alter_1 (id INT NOT NULL PRIMARY KEY, k0 INT, k1 INT, k2 INT, k3 INT, k4 INT, k5 INT, k6 INT, k7 INT) ENGINE=InnoDB
-- before: INSERT INTO alter_1 SELECT id, a, b, a, b, a, b, a, b FROM bench WHERE id <= 1000
ALTER TABLE alter_0 ADD COLUMN c0 INT FIRST
-- after: DROP TABLE alter_1

-- alter-table.change-type, write, read true, counts transaction
-- 8 operations
-- before: DROP TABLE IF EXISTS alter_1
-- before: CREATE TABLE alter_1 (id INT NOT NULL PRIMARY KEY, k0 INT, k1 INT, k2 INT, k3 INT, k4 INT, k5 INT, k6 INT, k7 INT) ENGINE=InnoDB
-- before: INSERT INTO alter_1 SELECT id, a, b, a, b, a, b, a, b FROM bench WHERE id <= 1000
ALTER TABLE alter_0 MODIFY k0 VARCHAR(20)
-- after: DROP TABLE alter_1

-- alter-table.add-index, write, read true, counts transaction
-- 8 operations
-- before: DROP TABLE IF EXISTS alter_1
-- before: CREATE TABLE alter_1 (id INT NOT NULL PRIMARY KEY, k0 INT, k1 INT, k2 INT, k3 INT, k4 INT, k5 INT, k6 INT, k7 INT) ENGINE=InnoDB
-- before: INSERT INTO alter_1 SELECT id, a, b, a, b, a, b, a, b FROM bench WHERE id <= 1000
CREATE INDEX x0 ON alter_0 (k0)
-- after: DROP TABLE alter_1

-- alter-table.drop-index, write, read true, counts transaction
-- 8 operations
-- before: DROP TABLE IF EXISTS alter_1
-- before: CREATE TABLE alter_1 (id INT NOT NULL PRIMARY KEY, k0 INT, k1 INT, k2 INT, k3 INT, k4 INT, k5 INT, k6 INT, k7 INT) ENGINE=InnoDB
-- before: INSERT INTO alter_1 SELECT id, a, b, a, b, a, b, a, b FROM bench WHERE id <= 1000
-- before: ALTER TABLE alter_1 ADD INDEX x0 (k0), ADD INDEX x1 (k1), ADD INDEX x2 (k2), ADD INDEX x3 (k3), ADD INDEX x4 (k4), ADD INDEX x5 (k5), ADD INDEX x6 (k6), ADD INDEX x7 (k7)
DROP INDEX x0 ON alter_0
-- after: DROP TABLE alter_1

-- ATIS.one, range, read true, counts transaction
-- 100 operations
SELECT * FROM city

-- ATIS.join-2, range, read true, counts transaction
-- 20 operations
SELECT flight.id, carrier.name FROM flight, carrier WHERE carrier.id = flight.carrier AND flight.origin = 50

-- ATIS.join-4, range, read true, counts transaction
-- 100 operations
SELECT carrier.name, o.name, d.name, flight.departs FROM flight, carrier, city o, city d WHERE carrier.id = flight.carrier AND o.id = flight.origin AND d.id = flight.destination AND o.state = 7 ORDER BY flight.departs, flight.id

-- ATIS.fares, range, read true, counts transaction
-- 200 operations
SELECT flight.id, MIN(fare.price) FROM flight, fare WHERE fare.flight = flight.id AND flight.origin = 14 AND flight.destination = 3 GROUP BY flight.id ORDER BY 2

-- ATIS.connections, range, read true, counts transaction
-- 20 operations
SELECT COUNT(*) FROM flight f, flight g WHERE f.origin = 36 AND g.origin = f.destination AND g.destination = 44 AND g.departs > f.departs

-- ATIS.group, aggregate, read true, counts transaction
-- 10 operations
SELECT carrier.name, COUNT(*), AVG(flight.minutes) FROM flight, carrier WHERE carrier.id = flight.carrier GROUP BY carrier.name ORDER BY 2 DESC, 1

-- ATIS.distinct, aggregate, read true, counts transaction
-- 50 operations
SELECT DISTINCT d.name FROM flight, city d WHERE d.id = flight.destination AND flight.carrier = 8 ORDER BY d.name

-- ATIS.in, aggregate, read true, counts transaction
-- 20 operations
SELECT COUNT(*) FROM city WHERE id IN (SELECT origin FROM flight WHERE departs < 60)

-- ATIS.not-exists, aggregate, read true, counts transaction
-- 50 operations
SELECT COUNT(*) FROM city WHERE NOT EXISTS (SELECT 1 FROM flight WHERE flight.origin = city.id AND flight.carrier = 20)

-- big-tables.row, point, read true, counts transaction
-- 300 operations
SELECT * FROM wide WHERE id = 428

-- big-tables.all, range, read true, counts transaction
-- 2 operations
SELECT * FROM wide

-- big-tables.some, range, read true, counts transaction
-- 10 operations
SELECT i1, i100, i200 FROM wide

-- big-tables.insert, write, read true, counts transaction
-- 100 operations
-- before: DROP TABLE IF EXISTS wide_new_1
-- before: CREATE TABLE wide_new_1 LIKE wide
INSERT INTO wide_new_0 VALUES (NULL,
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
  21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
  41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60,
  61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80,
  81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100,
  101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120,
  121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140,
  141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160,
  161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180,
  181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200)
-- after: DROP TABLE wide_new_1

-- connect.only, point, read true, counts transaction
-- 200 operations

-- connect.one, point, read true, counts transaction
-- 200 operations
SELECT 1

-- connect.row, point, read true, counts transaction
-- 200 operations
SELECT a FROM bench WHERE id = 1

-- connect.ten, point, read true, counts transaction
-- 100 operations
SELECT a, pad FROM bench WHERE id = 9848
SELECT a, pad FROM bench WHERE id = 9919
SELECT a, pad FROM bench WHERE id = 727
SELECT a, pad FROM bench WHERE id = 516
SELECT a, pad FROM bench WHERE id = 577
SELECT a, pad FROM bench WHERE id = 1893
SELECT a, pad FROM bench WHERE id = 1164
SELECT a, pad FROM bench WHERE id = 9810
SELECT a, pad FROM bench WHERE id = 6666
SELECT a, pad FROM bench WHERE id = 4801

-- connect.big-row, point, read true, counts transaction
-- 100 operations
SELECT * FROM wide WHERE id = 1

-- create.create-drop, write, read true, counts transaction
-- 20 operations
CREATE TABLE made_0 (i INT NOT NULL, d DOUBLE, f FLOAT, s CHAR(10), v VARCHAR(100)) ENGINE=InnoDB
DROP TABLE made_0

-- create.create-key-drop, write, read true, counts transaction
-- 20 operations
CREATE TABLE made_0 (i INT NOT NULL, d DOUBLE, f INT, s CHAR(10), v VARCHAR(100), PRIMARY KEY (i), KEY f (f), KEY s (s)) ENGINE=InnoDB
DROP TABLE made_0

-- create.many, write, read true, counts transaction
-- 40 operations
-- before: CREATE DATABASE many_1
CREATE TABLE many_0.t0 (i INT NOT NULL, d DOUBLE, s CHAR(10), PRIMARY KEY (i)) ENGINE=InnoDB
-- after: DROP DATABASE many_1

-- create.drop-many, write, read true, counts transaction
-- 1 operations
-- before: CREATE DATABASE gone_1
-- before: CREATE TABLE gone_1.t0 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t1 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t2 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t3 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t4 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t5 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t6 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t7 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t8 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t9 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t10 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t11 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t12 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t13 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t14 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t15 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t16 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t17 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t18 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
-- before: CREATE TABLE gone_1.t19 (i INT NOT NULL PRIMARY KEY) ENGINE=InnoDB
DROP DATABASE gone_0

-- create.temporary, write, read true, counts transaction
-- 50 operations
CREATE TEMPORARY TABLE temp_0 (i INT NOT NULL PRIMARY KEY, s CHAR(10)) ENGINE=InnoDB
DROP TEMPORARY TABLE temp_0

-- insert.ordered, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
INSERT INTO new_0 VALUES (1, 783668, 551, 'cuggkarteijcvyputmxa')
-- after: DROP TABLE new_1

-- insert.random, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
INSERT INTO new_0 VALUES (0, 126535, 197, 'mwzxiejokjpjngkjzkyz')
-- after: DROP TABLE new_1

-- insert.ten, write, read true, counts transaction
-- 200 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
INSERT INTO new_0 VALUES (1, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (2, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (3, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (4, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (5, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (6, 192480, 942, 'kcwsurisdlqlwwfqfmha'), (7, 192480, 942, 'kcwsu…
-- after: DROP TABLE new_1

-- insert.select, write, read true, counts transaction
-- 1 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
INSERT INTO new_0 SELECT * FROM bench
-- after: DROP TABLE new_1

-- insert.duplicate, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
INSERT INTO new_0 VALUES (1, 846619, 658, 'lihnelttdxffquqkvxjm')
-- after: DROP TABLE new_1

-- insert.replace, write, read true, counts transaction
-- 500 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
REPLACE INTO new_0 VALUES (1, 573294, 18, 'tmfrmrcflngkczsmmfyd')
-- after: DROP TABLE new_1

-- insert.update-key, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
UPDATE new_0 SET b = b + 1 WHERE id = 4566
-- after: DROP TABLE new_1

-- insert.update-indexed, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
UPDATE new_0 SET a = 926678 WHERE id = 8653
-- after: DROP TABLE new_1

-- insert.update-range, write, read true, counts transaction
-- 20 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
UPDATE new_0 SET b = b + 1 WHERE id BETWEEN 2157 AND 2256
-- after: DROP TABLE new_1

-- insert.update-all, write, read true, counts transaction
-- 1 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
UPDATE new_0 SET b = b + 1
-- after: DROP TABLE new_1

-- insert.delete-key, write, read true, counts transaction
-- 1000 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
DELETE FROM new_0 WHERE id = 1
-- after: DROP TABLE new_1

-- insert.delete-range, write, read true, counts transaction
-- 10 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
DELETE FROM new_0 WHERE a BETWEEN 394837 AND 444837 LIMIT 100
-- after: DROP TABLE new_1

-- insert.delete-all, write, read true, counts transaction
-- 1 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
DELETE FROM new_0
-- after: DROP TABLE new_1

-- select.key, point, read true, counts transaction
-- 2000 operations
SELECT a, b, pad FROM bench WHERE id = 7232

-- select.index, point, read true, counts transaction
-- 2000 operations
SELECT id, pad FROM bench WHERE a = 279011

-- select.in, point, read true, counts transaction
-- 500 operations
SELECT a, pad FROM bench WHERE id IN (7297,971,9146,2210,4322,660,902,8460,6654,7690)

-- select.range, range, read true, counts transaction
-- 200 operations
SELECT a, b, pad FROM bench WHERE id BETWEEN 8100 AND 8199

-- select.range-index, range, read true, counts transaction
-- 200 operations
SELECT b, pad FROM bench WHERE a BETWEEN 588050 AND 598050

-- select.scan, range, read true, counts transaction
-- 20 operations
SELECT COUNT(*) FROM bench WHERE pad LIKE '%qz%' AND b < 711

-- select.order, range, read true, counts transaction
-- 10 operations
SELECT id, pad FROM bench ORDER BY pad, id LIMIT 10

-- select.order-index, range, read true, counts transaction
-- 500 operations
SELECT id, a FROM bench WHERE a >= 588278 ORDER BY a LIMIT 10

-- select.all, range, read true, counts transaction
-- 4 operations
SELECT * FROM bench

-- select.group, aggregate, read true, counts transaction
-- 10 operations
SELECT b, COUNT(*) FROM bench GROUP BY b

-- select.distinct, aggregate, read true, counts transaction
-- 10 operations
SELECT COUNT(DISTINCT b) FROM bench

-- select.min-max, aggregate, read true, counts transaction
-- 1000 operations
SELECT MIN(a), MAX(a) FROM bench

-- select.sum, aggregate, read true, counts transaction
-- 20 operations
SELECT SUM(a), AVG(b) FROM bench

-- select.join, range, read true, counts transaction
-- 100 operations
SELECT x.id, y.pad FROM bench x, bench y WHERE x.id BETWEEN 5927 AND 6026 AND y.id = x.b

-- select.union, range, read true, counts transaction
-- 100 operations
SELECT id FROM bench WHERE id BETWEEN 2510 AND 2609 UNION SELECT b FROM bench WHERE id BETWEEN 2510 AND 2609

-- select.expressions, point, read true, counts transaction
-- 500 operations
SELECT 0 * 17 + 4, CONCAT('a', 0), LENGTH(REPEAT('x', 100)), ABS(-0), UPPER('text')

-- transactions.insert, write, read true, counts transaction
-- 50 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
BEGIN
INSERT INTO new_0 (a, b, pad) VALUES (901057, 436, 'ocwfyfmblaadxqgmbarx')
INSERT INTO new_0 (a, b, pad) VALUES (265042, 32, 'snfrzznrsiyacmlzzdjt')
INSERT INTO new_0 (a, b, pad) VALUES (641144, 206, 'bmynwuxgxablddbakxki')
INSERT INTO new_0 (a, b, pad) VALUES (838897, 787, 'pxzybtuorlyhpsdobiex')
INSERT INTO new_0 (a, b, pad) VALUES (925827, 616, 'sbetbvpgozcfqvjasmga')
INSERT INTO new_0 (a, b, pad) VALUES (202977, 684, 'vnjbbkeuvrxqvzditxvu')
INSERT INTO new_0 (a, b, pad) VALUES (173018, 288, 'easwbzzwfwiiyotzhwkq')
INSERT INTO new_0 (a, b, pad) VALUES (498009, 833, 'mtzsowaftwxrkfbtxppt')
INSERT INTO new_0 (a, b, pad) VALUES (999206, 430, 'ytocmmywzleeycbpkivg')
INSERT INTO new_0 (a, b, pad) VALUES (497848, 748, 'kwehumhfrniupnwxkvqb')
COMMIT
-- after: DROP TABLE new_1

-- transactions.rollback, write, read true, counts transaction
-- 50 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
BEGIN
INSERT INTO new_0 (a, b, pad) VALUES (789884, 946, 'prqsdvmbndufupcpilgk')
INSERT INTO new_0 (a, b, pad) VALUES (509031, 714, 'cwlqaoxnbgrqexglmjgx')
INSERT INTO new_0 (a, b, pad) VALUES (677786, 815, 'iiorrdsovyjpuvsswcub')
INSERT INTO new_0 (a, b, pad) VALUES (51625, 826, 'irmdtzdjrgjfmsthwrok')
INSERT INTO new_0 (a, b, pad) VALUES (991980, 459, 'ddteinamymemdyvjvkru')
INSERT INTO new_0 (a, b, pad) VALUES (258093, 250, 'rpxwogutmgcbqnnpnmda')
INSERT INTO new_0 (a, b, pad) VALUES (668850, 232, 'xunspqjhwmnohjkdidzf')
INSERT INTO new_0 (a, b, pad) VALUES (675017, 306, 'wvrligyqlsmqozadpuix')
INSERT INTO new_0 (a, b, pad) VALUES (535327, 64, 'pkmwrbgpccxskrcndltr')
INSERT INTO new_0 (a, b, pad) VALUES (359472, 342, 'wyxmyfounnpwgeesggqb')
ROLLBACK
-- after: DROP TABLE new_1

-- transactions.update, write, read true, counts transaction
-- 50 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
BEGIN
UPDATE new_0 SET b = b + 1 WHERE id = 4597
UPDATE new_0 SET b = b + 1 WHERE id = 7461
UPDATE new_0 SET b = b + 1 WHERE id = 4184
UPDATE new_0 SET b = b + 1 WHERE id = 7270
UPDATE new_0 SET b = b + 1 WHERE id = 5115
UPDATE new_0 SET b = b + 1 WHERE id = 3445
UPDATE new_0 SET b = b + 1 WHERE id = 747
UPDATE new_0 SET b = b + 1 WHERE id = 2779
UPDATE new_0 SET b = b + 1 WHERE id = 6596
UPDATE new_0 SET b = b + 1 WHERE id = 3977
COMMIT
-- after: DROP TABLE new_1

-- transactions.read-write, write, read true, counts transaction
-- 200 operations
-- before: DROP TABLE IF EXISTS new_1
-- before: CREATE TABLE new_1 LIKE bench
-- before: INSERT INTO new_1 SELECT * FROM bench
BEGIN
SELECT b FROM new_0 WHERE id = 8729 FOR UPDATE
UPDATE new_0 SET b = b + 1 WHERE id = 8729
SELECT b FROM new_0 WHERE id = 8729
COMMIT
-- after: DROP TABLE new_1

-- transactions.empty, write, read true, counts transaction
-- 1000 operations
BEGIN
COMMIT
