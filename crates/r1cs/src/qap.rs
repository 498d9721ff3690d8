//! Column sums of the matrices, which is all that parameter generation asks of a system.

use rayon::prelude::*;

use crate::shape::Place;
use crate::template::Placement;
use crate::{ConstraintSystemMatrices, Fr, Side, Template};

/// A recorded system as parameter generation needs it.
pub trait ColumnSums: Sync {
    /// Number of rows, those of the inputs included.
    fn n_rows(&self) -> usize;

    /// Number of inputs, ONE included.
    fn n_inputs(&self) -> usize;

    /// Number of aux variables.
    fn n_aux(&self) -> usize;

    /// `Σⱼ matrix[j][i]·rows[j]` for every column i: inputs, then aux variables. `rows` has one value for each row. One
    /// multiplication in Fr a term whose coefficient is not ±1. Panics for a template without C when asked for it.
    fn column_sums(&self, side: Side, rows: &[Fr]) -> Vec<Fr>;
}

impl ColumnSums for ConstraintSystemMatrices {
    fn n_rows(&self) -> usize {
        self.a.n_rows()
    }

    fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    fn n_aux(&self) -> usize {
        self.n_aux
    }

    fn column_sums(&self, side: Side, rows: &[Fr]) -> Vec<Fr> {
        let matrix = match side {
            Side::A => &self.a,
            Side::B => &self.b,
            Side::C => &self.c,
        };
        let mut sums = vec![Fr::default(); self.n_inputs + self.n_aux];
        for (row, value) in rows.iter().enumerate() {
            for term in matrix.row(row) {
                let column = term.variable.column(self.n_inputs);
                add_product(&mut sums[column], term.coefficient as usize, &self.coefficients, value);
            }
        }
        sums
    }
}

/// `sum += coefficients[number]·value`, where 0 is ONE and 1 is −ONE.
#[inline]
fn add_product(sum: &mut Fr, number: usize, coefficients: &[Fr], value: &Fr) {
    match number {
        0 => *sum += value,
        1 => *sum -= value,
        _ => *sum += coefficients[number] * value,
    }
}

impl ColumnSums for Template {
    fn n_rows(&self) -> usize {
        Template::n_rows(self)
    }

    fn n_inputs(&self) -> usize {
        Template::n_inputs(self)
    }

    fn n_aux(&self) -> usize {
        Template::n_aux(self)
    }

    fn column_sums(&self, side: Side, rows: &[Fr]) -> Vec<Fr> {
        assert_eq!(rows.len(), Template::n_rows(self), "rows of another circuit");
        let n_inputs = Template::n_inputs(self);
        let mut sums = vec![Fr::default(); n_inputs + Template::n_aux(self)];
        let (mut sections, mut rest, mut rest_rows) = (vec![], &mut sums[n_inputs..], rows);
        for placement in self.placements() {
            let (columns, columns_after) = rest.split_at_mut(placement.section.n_aux());
            let (own_rows, rows_after) = rest_rows.split_at(placement.section.n_rows());
            (rest, rest_rows) = (columns_after, rows_after);
            sections.push((placement, columns, own_rows));
        }
        let outer: Vec<OuterSums> = (sections.into_par_iter().with_max_len(1))
            .map(|(placement, columns, rows)| self.section_sums(side, &placement, columns, rows))
            .collect();
        let mut add = |column: usize, part: &Fr| sums[column] += part;
        for (placement, outer) in self.placements().zip(outer) {
            outer.header_inputs.iter().enumerate().for_each(|(input, part)| add(input, part));
            let own_inputs = outer.block_inputs.iter().enumerate();
            own_inputs.for_each(|(input, part)| add(placement.first_input + input, part));
            let imports = placement.imports.iter().zip(&outer.imports);
            imports.for_each(|(aux, part)| add(n_inputs + *aux as usize, part));
        }
        // The rows of the inputs, which are only in A.
        if side == Side::A {
            rest_rows.iter().enumerate().for_each(|(input, row)| add(input, row));
        }
        sums
    }
}

/// A section's part of the sums of columns that are not its own.
struct OuterSums {
    header_inputs: Vec<Fr>,
    block_inputs: Vec<Fr>,
    imports: Vec<Fr>,
}

impl Template {
    fn section_sums(&self, side: Side, placement: &Placement, columns: &mut [Fr], rows: &[Fr]) -> OuterSums {
        let zeros = |n| vec![Fr::default(); n];
        let mut outer = OuterSums {
            header_inputs: zeros(self.header.n_inputs()),
            block_inputs: zeros(placement.instance.map_or(0, |_| self.block.n_inputs())),
            imports: zeros(placement.imports.len()),
        };
        let mut rows = rows.iter();
        for run in placement.section.runs() {
            let terms = self.shape(run.shape, side);
            for (base, row) in (run.base..).zip(rows.by_ref().take(usize::from(run.count))) {
                for term in terms {
                    let sum = match term.place() {
                        Place::Own(back) => &mut columns[(base - back) as usize],
                        Place::Import(slot) => &mut outer.imports[slot as usize],
                        Place::HeaderInput(input) => &mut outer.header_inputs[input as usize],
                        Place::BlockInput(input) => &mut outer.block_inputs[input as usize],
                    };
                    add_product(sum, term.coefficient(), &self.coefficients, row);
                }
            }
        }
        outer
    }
}
