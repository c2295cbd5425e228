CREATE TABLE foo (i INT AUTO_INCREMENT, j INT, k INT, l INT, PRIMARY KEY (i) USING BTREE) ENGINE=InnoDB
INSERT INTO foo (i,j,k,l) VALUES (1,1,1,0),(2,2,2,0)
CREATE INDEX xj USING BTREE ON foo (j)
CREATE INDEX xjk USING BTREE ON foo (j, k)
ANALYZE TABLE foo

-- PK, point, read true, counts transaction
SELECT j FROM foo WHERE i = 100

-- PK-force, point, read true, counts transaction
SELECT j FROM foo FORCE INDEX (`PRIMARY`) WHERE i = 100

-- cover-noforce, point, read true, counts transaction
SELECT k FROM foo WHERE j = 100

-- nocover-force, point, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xj`) WHERE j = 100

-- cover-force, point, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xjk`) WHERE j = 100

-- q1-10, range, read true, counts transaction
SELECT j FROM foo WHERE i >= 100 ORDER BY i LIMIT 10

-- q4-10, range, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xj`) WHERE j >= 100 ORDER BY j LIMIT 10

-- q5-10, range, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xjk`) WHERE j >= 100 ORDER BY j LIMIT 10

-- q1-1000, range, read true, counts transaction
SELECT j FROM foo WHERE i >= 100 ORDER BY i LIMIT 1000

-- q4-1000, range, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xj`) WHERE j >= 100 ORDER BY j LIMIT 1000

-- q5-1000, range, read true, counts transaction
SELECT k FROM foo FORCE INDEX (`xjk`) WHERE j >= 100 ORDER BY j LIMIT 1000
